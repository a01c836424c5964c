// SPDX-License-Identifier: Apache-2.0
#include "ops/choices.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "ops/gradient/terms.h"

namespace hone::ops {
namespace {

/// The element that a statement writes.
Term own_element(const Statement& s) {
  std::vector<Term> at;
  for (const Range& r : s.indices) at.push_back(name_term(r.name));
  return access_term(s.name, std::move(at));
}

/// `index + 1` or `index - 1`.
bool is_step_of(const Term& t, const std::string& index) {
  return t.kind == Term::kInfix && (t.infix == Infix::kAdd || t.infix == Infix::kSub) &&
         t.args[0].kind == Term::kName && t.args[0].name == index && t.args[1].kind == Term::kInt &&
         t.args[1].i == 1;
}

bool has_index(const Statement& s, const std::string& name) {
  const auto named = [&](const Range& r) { return r.name == name; };
  const auto reduces = [&](const Term& part) {
    return std::any_of(part.ranges.begin(), part.ranges.end(), named);
  };
  return std::any_of(s.indices.begin(), s.indices.end(), named) ||
         std::any_of(s.loops.begin(), s.loops.end(), named) || any_part(s.value, reduces);
}

/// What `read`, in the statement `reader`, is at the element that `s` writes; nothing where it is
/// no read of the step before. `h[t-1,b,k] else h0[b,k]` is `h[t-1,b,j] else h0[b,j]` of
/// `h[t,b,j]`.
std::optional<Term> as_own(const Term& read, const Statement& reader, const Statement& s) {
  if (!read.guarded || read.index_count() != s.indices.size()) return std::nullopt;
  std::map<std::string, std::string> own;
  Term out = own_element(s);
  int steps = 0;
  for (size_t i = 0; i < s.indices.size(); ++i) {
    const Term& at = read.args[i];
    const std::string& index = s.indices[i].name;
    if (is_step_of(at, index)) {
      out.args[i] = at;
      own[index] = index;
      ++steps;
    } else if (at.kind != Term::kName || !own.emplace(at.name, index).second) {
      return std::nullopt;
    }
  }
  if (steps != 1) return std::nullopt;
  bool foreign = false;
  Term otherwise = replaced(read.args.back(), [&](const Term& part) -> std::optional<Term> {
    if (part.kind != Term::kName) return std::nullopt;
    const auto at = own.find(part.name);
    if (at != own.end()) return name_term(at->second);
    foreign |= has_index(reader, part.name);
    return std::nullopt;
  });
  if (foreign) return std::nullopt;
  return with_else(std::move(out), std::move(otherwise));
}

void point_to(Term& t, Span span) {
  t.span = span;
  t.depth = 1;
  for (Term& a : t.args) {
    point_to(a, span);
    t.depth = std::max(t.depth, a.depth + 1);
  }
}

class ChoiceWriter {
 public:
  ChoiceWriter(Definition& d, Diagnostics& diagnostics) : d_(d), diagnostics_(diagnostics) {}

  void run() {
    for (Statement& s : d_.statements) {
      if (!s.broken && !s.where.empty() && !s.scatters() && reads_data(s.where[0])) write_out(s);
    }
  }

 private:
  bool reads_data(const Term& condition) const {
    return any_part(condition, [&](const Term& t) {
      const Argument* a = t.kind == Term::kName ? d_.arg(t.name) : nullptr;
      return t.kind == Term::kAccess || (a && a->scalar);
    });
  }

  void write_out(Statement& s) {
    const Argument* a = d_.arg(s.name);
    const bool inout = a && a->role == ir::Role::kInOut;
    const Span condition = s.where[0].span;
    if (s.otherwise.empty()) {
      std::optional<Term> kept = inout ? own_element(s) : state_before(s);
      if (!kept) {
        s.broken = true;
        return;
      }
      point_to(*kept, condition);
      s.otherwise.push_back(*std::move(kept));
    }
    if (inout && s.assign != Assign::kSet) {
      const Span span = s.value.span;
      Term old = own_element(s);
      point_to(old, s.span);
      s.value = updated_term(std::exchange(s.assign, Assign::kSet), old, s.value);
      s.value.span = span;
    }
    const Span span{s.value.span.begin, std::max(s.otherwise[0].span.end, condition.end)};
    Term choice =
        call_term("select", {std::move(s.where[0]), std::move(s.value), std::move(s.otherwise[0])});
    choice.span = span;
    for (const Term& part : choice.args) choice.depth = std::max(choice.depth, part.depth + 1);
    s.value = std::move(choice);
    s.where.clear();
    s.otherwise.clear();
  }

  /// The state of the step before, as statements read it. None: an error says why.
  std::optional<Term> state_before(const Statement& s) {
    std::vector<Term> found;
    for (const Statement& reader : d_.statements) {
      const auto look = [&](const Term& t) {
        if (t.kind != Term::kAccess || t.name != s.name) return false;
        std::optional<Term> own = as_own(t, reader, s);
        const auto known = [&](const Term& f) { return same(f, *own); };
        if (own && std::none_of(found.begin(), found.end(), known)) found.push_back(*own);
        return false;
      };
      any_part(reader.value, look);
      for (const Term& t : reader.otherwise) any_part(t, look);
    }
    if (found.size() == 1) return found[0];
    const bool several = !found.empty();
    diagnostics_.error(
        s.where[0].span,
        fmt::format(
            "this condition is one of data, so `{}` has a value everywhere{}; say what "
            "stands elsewhere, `where ... else 0`",
            s.name,
            several ? fmt::format(": it may stay `{}` or `{}`", print(found[0]), print(found[1]))
                    : ""));
    return std::nullopt;
  }

  Definition& d_;
  Diagnostics& diagnostics_;
};

}  // namespace

void write_out_choices(Definition& d, Diagnostics& diagnostics) {
  if (!d.headless) ChoiceWriter(d, diagnostics).run();
}

}  // namespace hone::ops
