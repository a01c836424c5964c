// SPDX-License-Identifier: Apache-2.0
// Which indices of a scope the element of the target decides, and as what.
#include <algorithm>
#include <utility>

#include "ops/gradient/terms.h"
#include "ops/gradient/transpose.h"
#include "ops/linear.h"

namespace hone::ops {

using ir::Expr;

namespace {

/// `form` divided by `by`, where that leaves nothing over.
std::optional<Linear> divided(const Linear& form, const Expr& by) {
  int64_t number = 0;
  const bool constant = ir::is_const(by, &number);
  if (form.overflow || (constant && number <= 0)) return {};
  Linear out;
  if (constant ? form.constant % number != 0 : form.constant != 0) return {};
  out.constant = constant ? form.constant / number : 0;
  for (const auto& [atom, coefficient] : form.terms) {
    if (constant && coefficient % number == 0) {
      out.terms.emplace_back(atom, coefficient / number);
      continue;
    }
    std::vector<Expr> factors;
    append_factors(atom, factors);
    const auto at = std::find_if(factors.begin(), factors.end(),
                                 [&](const Expr& f) { return ir::equal(f, by); });
    if (constant || at == factors.end()) return {};
    factors.erase(at);
    Expr rest = ir::make_int(1);
    for (const Expr& f : factors) rest = rest * f;
    Linear one = linear_of(rest);
    out.add(one, coefficient);
  }
  return out;
}

/// The factor of the variable in `form`, where one term has it; else null. `rest`: other terms.
Expr factor_of(const Linear& form, const std::string& name, Linear& rest) {
  Expr factor;
  rest = {};
  rest.constant = form.constant;
  for (const auto& [atom, coefficient] : form.terms) {
    if (!ir::mentions_var(atom, name)) {
      rest.terms.emplace_back(atom, coefficient);
      continue;
    }
    if (factor) return {};
    std::vector<Expr> factors;
    append_factors(atom, factors);
    factor = ir::make_int(coefficient);
    bool found = false;
    for (const Expr& f : factors) {
      if (f->op == ir::Op::kVar && f->name == name && !found) {
        found = true;
      } else if (ir::mentions_var(f, name)) {
        return {};
      } else {
        factor = factor * f;
      }
    }
    if (!found) return {};
  }
  return factor;
}

}  // namespace

Transposition::Variable* Transposition::open_variable(const std::string& name) {
  for (Variable& v : variables_) {
    if (v.range.name == name && !v.value) return &v;
  }
  return nullptr;
}

bool Transposition::has_open(const Expr& e) const {
  return std::any_of(variables_.begin(), variables_.end(), [&](const Variable& v) {
    return !v.value && ir::mentions_var(e, v.range.name);
  });
}

/// `e` with all that is solved in place.
Expr Transposition::solved(Expr e) const {
  for (bool more = true; more;) {
    more = false;
    for (const Variable& v : variables_) {
      if (!v.value || !ir::mentions_var(e, v.range.name)) continue;
      e = with_value(e, v.range.name, v.value);
      more = true;
    }
  }
  return tidy(e);
}

bool Transposition::impossible(const Expr& condition) const {
  return prover().implies(tidy(negated(condition)));
}

/// What counts only at the ends of an index is not looked for along all of it. So it is of the
/// value before a recurrence's first step.
void Transposition::shrink(Contribution& c) {
  std::erase_if(c.conditions, [&](const Condition& k) {
    Expr e = k.holds ? index_expr(e_.op(), k.term) : Expr();
    if (!e || reads_data(e)) return false;
    e = solved(e);
    return shrink_to(possible(e));
  });
}

/// A condition without those of its sides that nothing can be.
Expr Transposition::possible(Expr e) const {
  while (e->op == ir::Op::kOr) {
    if (impossible(e->args[0])) {
      e = e->args[1];
    } else if (impossible(e->args[1])) {
      e = e->args[0];
    } else {
      return e;
    }
  }
  return e;
}

bool Transposition::shrink_to(const Expr& condition) {
  if (condition->op != ir::Op::kLt && condition->op != ir::Op::kLe) return false;
  Linear room = expanded(difference(condition->args[1], condition->args[0]));
  if (condition->op == ir::Op::kLt) room.add(-1);  // now room >= 0
  for (size_t i = 0; i < variables_.size(); ++i) {
    const Bound range = variables_[i].range;
    Linear rest;
    const Expr factor = factor_of(room, range.name, rest);
    int64_t sign = 0;
    if (variables_[i].value || !factor || !ir::is_const(factor, &sign)) continue;
    Linear count = rest;
    count.add(1);
    if (sign == -1) count.add(linear_of(range.lo), -1);  // lo <= v <= rest
    if (sign == 1) count.add(linear_of(range.hi), 1);    // -rest <= v < hi
    if (sign == 1) count.add(-1);
    if ((sign != 1 && sign != -1) || !count.is_constant() || count.constant < 1) continue;
    const Expr first = sign == -1 ? range.lo : tidy(range.hi - ir::make_int(count.constant));
    if (count.constant == 1) {
      variables_[i].value = first;
      return true;
    }
    Variable few;
    few.range = {range.name + "'", ir::make_int(0), ir::make_int(count.constant)};
    variables_[i].value = first + ir::make_var(few.range.name);
    variables_.push_back(std::move(few));
    return true;
  }
  return false;
}

bool Transposition::may_solve(const Variable& v, const Expr& value) const {
  if (ir::mentions_var(value, v.range.name)) return false;
  for (const Variable& other : variables_) {
    if (other.value || other.range.name == v.range.name) continue;
    const bool ranges = ir::mentions_var(solved(other.range.lo), v.range.name) ||
                        ir::mentions_var(solved(other.range.hi), v.range.name);
    if (ranges && ir::mentions_var(value, other.range.name)) return false;
  }
  return true;
}

/// Is the index one of a range that data ends differently for others, which are still open?
bool Transposition::is_ragged(const Variable& v) const {
  const Expr lo = solved(v.range.lo), hi = solved(v.range.hi);
  return (reads_data(lo) && has_open(lo)) || (reads_data(hi) && has_open(hi));
}

bool Transposition::is_told_by_data(const Term& at) const {
  const Expr position = index_expr(e_.op(), at);
  return !position || reads_data(position);
}

void Transposition::solve(Contribution& c) {
  std::vector<size_t> dims;
  for (size_t d = 0; d < c.at.size(); ++d) dims.push_back(d);
  // An index by itself is the element's. One range may be settled by what others come to be.
  const auto solve_plain = [&](bool ragged) {
    return std::erase_if(dims, [&](size_t d) {
      const Term& at = c.at[d];
      const Expr element = ir::make_var(target_.indices[d].name);
      Variable* v = at.kind == Term::kName ? open_variable(at.name) : nullptr;
      if (!v || !may_solve(*v, element) || (is_ragged(*v) && !ragged)) return false;
      v->value = element;
      return true;
    });
  };
  while (solve_plain(in_steps_) > 0) {
  }
  shrink(c);
  const bool scatters = std::any_of(dims.begin(), dims.end(), [&](size_t d) {
    const Variable* v = c.at[d].kind == Term::kName ? open_variable(c.at[d].name) : nullptr;
    return is_told_by_data(c.at[d]) || (v && is_ragged(*v));
  });
  if (scatters) return place(c, dims);
  std::vector<Expr> positions;
  for (const size_t d : dims) positions.push_back(index_expr(e_.op(), c.at[d]));
  split_divided(positions, 0);
  for (size_t i = 0; i < dims.size(); ++i) {
    solve_position(positions[i], ir::make_var(target_.indices[dims[i]].name));
  }
}

/// Terms go where positions say. One that is the same for all terms is a condition on the element.
void Transposition::place(const Contribution& c, const std::vector<size_t>& dims) {
  for (const Bound& b : target_.indices) places_.push_back(name_term(b.name));
  bool any = false;
  for (const size_t d : dims) {
    if (names_open(c.at[d])) {
      places_[d] = c.at[d];
      any = true;
    } else {
      matches_.push_back({infix_term(Infix::kEq, places_[d], c.at[d])});
    }
  }
  if (!any) places_.clear();
}

/// Does it name an index that is not solved?
bool Transposition::names_open(const Term& t) const {
  const Term here = placed(t);
  return std::any_of(variables_.begin(), variables_.end(),
                     [&](const Variable& v) { return !v.value && mentions(here, v.range.name); });
}

/// An index that is read by its quotient and rest becomes those: `h = S*h1 + h0`.
void Transposition::split_divided(std::vector<Expr>& positions, size_t first) {
  for (size_t d = first; d < positions.size(); ++d) {
    Expr divisor;
    std::string name;
    ir::visit(positions[d], [&](const Expr& e) {
      if (divisor || (e->op != ir::Op::kDiv && e->op != ir::Op::kMod)) return;
      const bool plain = e->args[0]->op == ir::Op::kVar && open_variable(e->args[0]->name);
      int64_t number = 1;
      if (!plain || has_open(e->args[1]) || (ir::is_const(e->args[1], &number) && number < 1)) {
        return;
      }
      divisor = e->args[1];
      name = e->args[0]->name;
    });
    if (!divisor) continue;
    Variable& v = *open_variable(name);
    int64_t lo = -1;
    if (!ir::is_const(v.range.lo, &lo) || lo != 0 || reads_data(v.range.hi)) continue;
    Variable quotient, rest;
    const auto whole = divided(expanded(linear_of(v.range.hi)), divisor);
    const auto used = [&](const std::string& other) {
      return std::any_of(variables_.begin(), variables_.end(),
                         [&](const Variable& known) { return known.range.name == other; });
    };
    std::string high_name = name + "'";
    while (used(high_name)) high_name += "'";
    std::string low_name = high_name + "'";
    while (used(low_name)) low_name += "'";
    quotient.range = {
        high_name, ir::make_int(0),
        whole ? expr_of(*whole)
              : ir::make_binary(ir::Op::kDiv, v.range.hi + divisor - ir::make_int(1), divisor)};
    rest.range = {low_name, ir::make_int(0), divisor};
    quotient.outer = rest.outer = v.outer;
    const Expr high = ir::make_var(quotient.range.name), low = ir::make_var(rest.range.name);
    for (Expr& p : positions) {
      p = ir::rewrite(p, [&](const Expr& e) {
        const bool here = (e->op == ir::Op::kDiv || e->op == ir::Op::kMod) &&
                          e->args[0]->op == ir::Op::kVar && e->args[0]->name == name &&
                          ir::equal(e->args[1], divisor);
        return here ? (e->op == ir::Op::kDiv ? high : low) : Expr();
      });
    }
    v.value = divisor * high + low;
    v.sure = whole.has_value();
    variables_.push_back(std::move(quotient));
    variables_.push_back(std::move(rest));
    --d;  // there may be another
  }
}

void Transposition::solve_position(Expr position, Expr element) {
  while (solve_digit(position, element)) {
  }
  for (const bool outer : {true, false}) {
    for (const bool unit : {true, false}) {
      if (solve_linear(position, element, outer, unit)) return;
    }
  }
  const Expr here = solved(position);
  if (!equal_index(here, element)) {
    equalities_.push_back(ir::make_binary(ir::Op::kEq, element, here));
  }
}

/// `R*q + w` with w in 0..R, as of a reshape, has w as the rest and goes on with q.
bool Transposition::solve_digit(Expr& position, Expr& element) {
  const Linear form = expanded(linear_of(solved(position)));
  for (const auto& [atom, coefficient] : form.terms) {
    Variable* v =
        atom->op == ir::Op::kVar && coefficient == 1 ? open_variable(atom->name) : nullptr;
    int64_t lo = -1, extent = 0;
    if (!v || !ir::is_const(v->range.lo, &lo) || lo != 0) continue;
    const Expr by = solved(v->range.hi);
    if (has_open(by) || reads_data(by) || (ir::is_const(by, &extent) && extent < 2)) continue;
    Linear rest = form;
    Linear own;
    own.terms.emplace_back(atom, 1);
    rest.add(own, -1);
    const auto high = divided(rest, by);
    if (!high || !has_open(expr_of(*high))) continue;
    const Expr value = ir::make_binary(ir::Op::kMod, element, by);
    if (!may_solve(*v, value)) continue;
    v->value = value;
    v->sure = true;
    position = expr_of(*high);
    element = ir::make_binary(ir::Op::kDiv, element, by);
    return true;
  }
  return false;
}

/// Solves for an index of the equation, or of its reduction, whose factor is 1 or -1, or else any.
bool Transposition::solve_linear(const Expr& position, const Expr& element, bool outer, bool unit) {
  const Linear form = expanded(linear_of(solved(position)));
  for (Variable& v : variables_) {
    Linear rest;
    if (v.value || v.outer != outer) continue;
    Expr factor = factor_of(form, v.range.name, rest);
    if (!factor) continue;
    int64_t number = 0;
    const bool constant = ir::is_const(factor, &number);
    const bool one = constant && (number == 1 || number == -1);
    if (one != unit || has_open(factor) || (constant && number == 0)) continue;
    Linear left = linear_of(element);
    left.add(rest, -1);
    if (constant && number < 0) {
      Linear other;
      other.add(left, -1);
      left = other;
      factor = ir::make_int(-number);
    }
    Expr value = expr_of(left);
    const Expr whole = ir::make_binary(ir::Op::kMod, value, factor);
    if (!one) value = ir::make_binary(ir::Op::kDiv, value, factor);
    if (!may_solve(v, value)) continue;
    v.value = value;
    if (!one) divisible_.push_back(ir::make_binary(ir::Op::kEq, whole, ir::make_int(0)));
    return true;
  }
  return false;
}

}  // namespace hone::ops
