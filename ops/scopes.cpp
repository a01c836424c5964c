// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "jit/ir/spelling.h"
#include "ops/foreign.h"
#include "ops/lexer.h"
#include "ops/lower.h"
#include "ops/scatter_indices.h"

namespace hone::ops {
namespace {

/// Words to look up, and to list.
struct Words {
  std::vector<std::string> list;
  std::unordered_set<std::string_view> set;

  void add(const std::string& word) {
    if (set.insert(word).second) list.push_back(word);
  }
  bool has(std::string_view word) const { return set.count(word) > 0; }
};

/// Finds what statements mention and nothing declares. Each unknown name is told once.
class ScopeChecker {
 public:
  ScopeChecker(const Definition& d, Diagnostics& diagnostics) : d_(d), diagnostics_(diagnostics) {
    for (const Argument& a : d.args) {
      (a.scalar ? numbers_ : tensors_).add(a.name);
      if (!a.scalar && a.role != ir::Role::kOutput) defined_.add(a.name);
    }
    for (const std::string& dim : d.dims) numbers_.add(dim);
    for (const Param& p : d.params) (p.is_type ? types_ : numbers_).add(p.name);
    for (const Statement& s : d.statements) tensors_.add(s.name);
    for (const std::string& name : function_words()) functions_.add(name);
  }

  void run() {
    for (const Statement& s : d_.statements) {
      if (!s.broken) check(s);
      defined_.add(s.name);
    }
  }

 private:
  template <class... Args>
  void unknown(const Term& t, fmt::format_string<Args...> format, Args&&... args) {
    if (!told_.insert(t.name).second) return;
    diagnostics_.error(t.span, fmt::format(format, std::forward<Args>(args)...));
  }

  void check(const Statement& s) {
    indices_.clear();
    open(s.indices);
    for (const Range& r : s.scatters() ? scattered_indices(s, [&](auto n) { return known(n); })
                                       : std::vector<Range>()) {
      indices_.push_back(r.name);
    }
    for (const Range& r : s.indices) {
      for (const Term& t : r.at) check(t);
    }
    for (const Range& r : s.loops) {
      for (const Term& t : r.bounds) check(t);
    }
    check(s.value);
    for (const Term& t : s.where) check(t);
    for (const Term& t : s.otherwise) check(t);
  }

  bool known(std::string_view name) const {
    return numbers_.has(name) || tensors_.has(name) || types_.has(name);
  }

  void open(const std::vector<Range>& ranges) {
    for (const Range& r : ranges) {
      for (const Term& t : r.bounds) check(t);
      if (!r.name.empty()) indices_.push_back(r.name);
    }
  }

  void check(const Term& t) {
    const size_t outer = indices_.size();
    open(t.ranges);
    if (t.kind == Term::kName) check_name(t);
    if (t.kind == Term::kAccess) check_tensor(t);
    if (t.kind == Term::kCall) check_function(t);
    if (t.kind == Term::kCast && !dtype_named(t.name) && !types_.has(t.name)) {
      unknown(t, "there is no dtype `{}` to cast to; dtypes are {}{}", t.name,
              spaced(dtype_words()), dtype_hint(t.name));
    }
    for (const Term& a : t.args) check(a);
    indices_.resize(outer);
  }

  void check_name(const Term& t) {
    if (known(t.name)) return;
    if (std::find(indices_.begin(), indices_.end(), t.name) != indices_.end()) return;
    std::vector<std::string> near = indices_;
    near.insert(near.end(), numbers_.list.begin(), numbers_.list.end());
    unknown(t, "`{}` is no index, dim, parameter or scalar argument here; indices in scope: {}{}",
            t.name, indices_.empty() ? "none" : fmt::format("{}", fmt::join(indices_, ", ")),
            ir::did_you_mean(t.name, near));
  }

  void check_tensor(const Term& t) {
    if (tensors_.has(t.name) || numbers_.has(t.name)) return;
    if (functions_.has(t.name)) {
      unknown(t, "`{}` is a function, called with `(`: `{}(...)`", t.name, t.name);
      return;
    }
    unknown(t, "there is no tensor `{}`; tensors here are {}{}", t.name, spaced(defined_.list),
            ir::did_you_mean(t.name, tensors_.list));
  }

  void check_function(const Term& t) {
    if (functions_.has(t.name)) return;
    const std::string_view advice = advice_on_function(t.name);
    if (is_reduction(t.name)) {
      unknown(t, "a reduction names its indices: `{}[k](...)`", t.name);
    } else if (dtype_named(t.name) || types_.has(t.name)) {
      unknown(t, "a conversion is `cast<{}>(...)`", t.name);
    } else if (tensors_.has(t.name)) {
      unknown(t, "`{}` is a tensor; its elements are read with brackets, `{}[...]`", t.name,
              t.name);
    } else if (!advice.empty()) {
      unknown(t, "there is no function `{}`; {}", t.name, advice);
    } else {
      unknown(t, "there is no function `{}`; functions are cast<type> {}{}", t.name,
              spaced(function_words()), ir::did_you_mean(t.name, function_words()));
    }
  }

  const Definition& d_;
  Diagnostics& diagnostics_;
  Words numbers_;  // dims, integer parameters, scalar arguments
  Words tensors_;
  Words defined_;  // tensors that a statement here can read
  Words types_;
  Words functions_;
  std::vector<std::string> indices_;
  std::unordered_set<std::string> told_;
};

}  // namespace

void check_scopes(const Definition& d, Diagnostics& diagnostics) {
  ScopeChecker(d, diagnostics).run();
}

}  // namespace hone::ops
