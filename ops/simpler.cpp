// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <charconv>
#include <sstream>
#include <string_view>
#include <unordered_set>

#include "ops/op.h"
#include "ops/random.h"
#include "ops/syntax.h"

namespace hone::ops {
namespace {

/// Names that terms use.
void collect(const Term& t, std::unordered_set<std::string>& names) {
  names.insert(t.name);
  names.insert(t.type);
  for (const Term& a : t.args) collect(a, names);
  for (const Range& r : t.ranges) {
    for (const Term& b : r.bounds) collect(b, names);
  }
}

std::unordered_set<std::string> names_in_statements(const Definition& d) {
  std::unordered_set<std::string> names;
  for (const Statement& s : d.statements) {
    std::unordered_set<std::string> own;
    own.insert(s.type);
    collect(s.value, own);
    for (const auto* list : {&s.where, &s.otherwise}) {
      for (const Term& t : *list) collect(t, own);
    }
    for (const auto* ranges : {&s.indices, &s.loops}) {
      for (const Range& r : *ranges) {
        for (const Term& t : r.at) collect(t, own);
        for (const Term& t : r.bounds) collect(t, own);
      }
    }
    own.erase(s.name);  // that a recurrence reads itself is no use of it
    names.merge(own);
  }
  return names;
}

/// Takes out what nothing uses any more.
void prune(Definition& d) {
  for (size_t before = 0; before != d.statements.size() + d.args.size();) {
    before = d.statements.size() + d.args.size();
    const auto used = names_in_statements(d);
    std::erase_if(d.statements,
                  [&](const Statement& s) { return !d.arg(s.name) && !used.count(s.name); });
    std::erase_if(d.args, [&](const Argument& a) {
      return a.role == ir::Role::kInput && !used.count(a.name);
    });
  }
  auto used = names_in_statements(d);
  for (const Argument& a : d.args) {
    used.insert(a.type);
    for (const Term& t : a.shape) collect(t, used);
  }
  std::erase_if(d.params, [&](const Param& p) { return !used.count(p.name); });
  d.dims.clear();
  for (const Argument& a : d.args) {
    for (const Term& t : a.shape) {
      std::unordered_set<std::string> names;
      collect(t, names);
      for (const std::string& name : names) {
        if (!name.empty() && !d.param(name)) d.dims.push_back(name);
      }
    }
  }
}

/// The words of `text` that still name something in `d`.
std::string kept_words(const Definition& d, const std::string& text) {
  std::istringstream in(text);
  std::string out;
  bool kept = false;
  for (std::string word; in >> word;) {
    const std::string key = word.substr(0, word.find_first_of("=@."));
    const bool dim = std::find(d.dims.begin(), d.dims.end(), key) != d.dims.end();
    if (key == "const" || key == "cold") {
      kept = d.arg(word.substr(word.find('=') + 1)) != nullptr;
    } else if (word.find_first_of("=@") != std::string::npos) {
      kept = dim || d.param(key) || d.arg(key) || key == "align" || key == "numerics";
    }  // else `at` and its values, which go with the dim before
    if (kept) out += " " + word;
  }
  return out;
}

/// `t` with the indices of `ranges` at 0.
Term at_zero(Term t, const std::vector<Range>& ranges) {
  const auto bound = [&](const Range& r) { return r.name == t.name; };
  if (t.kind == Term::kName && std::any_of(ranges.begin(), ranges.end(), bound)) return Term{};
  for (Term& a : t.args) a = at_zero(std::move(a), ranges);
  for (Range& r : t.ranges) {
    for (Term& b : r.bounds) b = at_zero(std::move(b), ranges);
  }
  return t;
}

class Simplifier {
 public:
  explicit Simplifier(const Problem& p) : d_(*p.op.definition), text_(p.text) {
    const bool inlined = p.text.starts_with(d_.text);
    words_ = p.text.substr(inlined ? d_.text.size() : d_.name.size());
  }

  std::vector<std::string> run() {
    drop_outputs();
    for (size_t i = 0; i < d_.statements.size(); ++i) {
      simplify_term(i, [](Statement& s) -> Term& { return s.value; }, d_.statements[i].value, {});
    }
    drop_conditions();
    shrink_words();
    return std::move(found_);
  }

 private:
  using Path = std::vector<size_t>;

  void propose(Definition d, const std::string& words) {
    prune(d);
    const auto p = parse_problem(print(d) + kept_words(d, words));
    if (!p || p->text == text_) return;
    if (std::find(found_.begin(), found_.end(), p->text) == found_.end()) found_.push_back(p->text);
  }

  void drop_outputs() {
    for (size_t i = 0; i < d_.statements.size(); ++i) {
      Definition d = d_;
      const std::string name = d.statements[i].name;
      if (!d.arg(name)) continue;
      d.statements.erase(d.statements.begin() + static_cast<std::ptrdiff_t>(i));
      std::erase_if(d.args, [&](const Argument& a) { return a.name == name; });
      propose(std::move(d), words_);
    }
  }

  /// Replaces the node at `path` by each of its parts, or by 1; then the same below it.
  template <class Root>
  void simplify_term(size_t statement, const Root& root, const Term& at, const Path& path) {
    const auto replace = [&](const Term& by) {
      Definition d = d_;
      Term* node = &root(d.statements[statement]);
      for (const size_t step : path) node = &node->args[step];
      *node = by;
      propose(std::move(d), words_);
    };
    if (at.kind == Term::kInt || at.kind == Term::kFloat || at.kind == Term::kName) return;
    Term one;
    one.i = 1;
    replace(one);
    if (at.kind == Term::kReduce) {
      replace(at_zero(at.args[0], at.ranges));
    } else if (at.kind != Term::kAccess) {
      for (const Term& part : at.args) replace(part);
    } else if (at.guarded) {
      Term plain = at;
      plain.guarded = false;
      plain.args.pop_back();
      replace(plain);
    }
    for (size_t i = 0; i < at.args.size(); ++i) {
      Path below = path;
      below.push_back(i);
      simplify_term(statement, root, at.args[i], below);
    }
  }

  void drop_conditions() {
    for (size_t i = 0; i < d_.statements.size(); ++i) {
      if (d_.statements[i].where.empty()) continue;
      Definition d = d_;
      d.statements[i].where.clear();
      d.statements[i].otherwise.clear();
      propose(std::move(d), words_);
    }
  }

  /// Smaller dims, fixed ones for ranges, and no layouts.
  void shrink_words() {
    std::istringstream in(words_);
    std::vector<std::string> words;
    for (std::string word; in >> word;) words.push_back(word);
    for (size_t i = 0; i < words.size(); ++i) {
      const size_t equals = words[i].find('=');
      const std::string key = words[i].substr(0, equals);
      const bool dim = std::find(d_.dims.begin(), d_.dims.end(), key) != d_.dims.end();
      const auto with = [&](const std::string& word) {
        std::string text;
        for (size_t k = 0; k < words.size(); ++k) text += " " + (k == i ? word : words[k]);
        propose(d_, text);
      };
      if (!dim) {
        with("");
        continue;
      }
      const size_t dots = words[i].rfind("..");
      const size_t from = dots == std::string::npos ? equals + 1 : dots + 2;
      int64_t value = 0;
      std::from_chars(words[i].data() + from, words[i].data() + words[i].size(), value);
      if (dots != std::string::npos) with(key + "=" + std::to_string(value));
      const std::string start = words[i].substr(0, from);
      for (const int64_t smaller : {int64_t{1}, value / 2, value - 1}) {
        if (smaller > 0 && smaller < value) with(start + std::to_string(smaller));
      }
    }
  }

  const Definition& d_;
  std::string text_;
  std::string words_;
  std::vector<std::string> found_;
};

}  // namespace

std::vector<std::string> simpler_problems(const std::string& problem) {
  const auto p = parse_problem(problem);
  if (!p) return {};
  return Simplifier(*p).run();
}

}  // namespace hone::ops
