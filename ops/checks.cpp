// SPDX-License-Identifier: Apache-2.0
#include "ops/checks.h"

#include <algorithm>
#include <utility>

#include "jit/ir/facts.h"

namespace hone::ops {
namespace {

using ir::Expr;

bool same_check(const ir::Check& a, const ir::Check& b) {
  const auto same = [](const ir::IndexVar& x, const ir::IndexVar& y) {
    return x.name == y.name && equal(x.lo, y.lo) && equal(x.hi, y.hi);
  };
  return equal(a.value, b.value) && equal(a.lo, b.lo) && equal(a.hi, b.hi) &&
         std::equal(a.vars.begin(), a.vars.end(), b.vars.begin(), b.vars.end(), same);
}

/// True where the type of what is read leaves no other values.
bool holds_by_type(const ir::Check& check, const std::vector<ir::Dim>& dims) {
  ir::Facts facts;
  for (const ir::Dim& d : dims) facts.define_dim(d.name, d.lo, d.hi);
  const ir::Poly value = ir::Poly::of(check.value, &facts);
  return facts.nonnegative(value - ir::Poly::of(check.lo, &facts)) &&
         facts.at_most(value, ir::Poly::of(check.hi, &facts));
}

}  // namespace

std::vector<ir::IndexVar> Checks::check_vars(const Expr& e, const std::vector<Index>& scope) const {
  std::vector<ir::IndexVar> vars;
  for (size_t i = scope.size(); i-- > 0;) {
    const Index& index = scope[i];
    bool used = ir::mentions_var(e, index.name);
    for (const ir::IndexVar& v : vars) {
      used |= (v.lo && ir::mentions_var(v.lo, index.name)) || ir::mentions_var(v.hi, index.name);
    }
    if (!used) continue;
    ir::IndexVar v = index_var(index);
    if (index.from_data) v = {index.name, {}, index.end};
    vars.insert(vars.begin(), std::move(v));
  }
  return vars;
}

/// Adds a check of `source`, an expression that reads data; false with an error where it cannot be
/// checked before the stages run.
bool Checks::add_check(ir::Check check, const Expr& source, Span span, Of of) {
  const Expr load = first_load(source);
  bool input = true;
  ir::visit(source, [&](const Expr& e) {
    if (e->op != ir::Op::kLoad) return;
    const ir::Buffer& b = c_.buffer_of(e->name);
    input &= b.role == ir::Role::kInput;
  });
  if (!input) {
    c_.error(span,
             "an index or range that is read from data is checked before anything runs, so it must "
             "come from inputs; {}",
             of == Of::kRead      ? "guard the read with `else`"
             : of == Of::kScatter ? "leave out what is outside with `else skip`"
                                  : "go over all and choose terms, "
                                    "`sum[j](select(first[i] <= j && j < last[i], v, 0))`");
    return false;
  }
  const ir::Buffer& b = c_.buffer_of(load->name);
  check.tensor = b.name;
  check.position = ir::make_int(0);
  for (size_t i = 0; i < b.shape.size(); ++i) {
    check.position = check.position * b.shape[i] + load->args[i];
  }
  for (const ir::Check& known : c_.program.checks) {
    if (same_check(known, check)) return true;
  }
  c_.program.checks.push_back(std::move(check));
  return true;
}

void Checks::check_data_index(const Draft& draft, const Access& access, size_t dim) {
  std::vector<Index> scope = draft.vars;
  scope.insert(scope.end(), draft.rvars.begin(), draft.rvars.end());
  const Expr& index = access.load->args[dim];
  const ir::Buffer& b = c_.buffer_of(access.load->name);
  ir::Check check;
  check.vars = check_vars(index, scope);
  check.value = index;
  check.lo = ir::make_int(0);
  check.hi = b.shape[dim] - ir::make_int(1);
  if (!c_.binding.checking && holds_by_type(check, c_.binding.ranged)) return;
  add_check(std::move(check), index, access.span, access.written ? Of::kScatter : Of::kRead);
}

}  // namespace hone::ops
