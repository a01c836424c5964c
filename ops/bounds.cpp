// SPDX-License-Identifier: Apache-2.0
#include "ops/bounds.h"

#include <algorithm>

namespace hone::ops {
namespace {

using ir::Expr;

constexpr int kBudget = 400;  // steps of one proof

bool is_variable(const Expr& e) { return e->op == ir::Op::kVar; }

/// Is this atom neither a variable nor a dim?
bool is_opaque(const Expr& e) { return e->op != ir::Op::kVar && e->op != ir::Op::kDim; }

/// `form` with the term at `at` replaced by coefficient * `by`.
Linear replaced(const Linear& form, size_t at, const Linear& by) {
  Linear out = form;
  const int64_t scale = out.terms[at].second;
  out.terms.erase(out.terms.begin() + static_cast<int64_t>(at));
  out.add(by, scale);
  return out;
}

}  // namespace

void Linear::add(int64_t value) { overflow |= __builtin_add_overflow(constant, value, &constant); }

void Linear::add(const Linear& other, int64_t scale) {
  int64_t scaled = 0;
  overflow |= other.overflow || __builtin_mul_overflow(other.constant, scale, &scaled);
  add(scaled);
  for (const auto& [atom, coefficient] : other.terms) {
    overflow |= __builtin_mul_overflow(coefficient, scale, &scaled);
    size_t i = 0;
    while (i < terms.size() && !ir::equal(terms[i].first, atom)) ++i;
    if (i == terms.size()) {
      terms.emplace_back(atom, scaled);
    } else {
      overflow |= __builtin_add_overflow(terms[i].second, scaled, &terms[i].second);
    }
    if (terms[i].second == 0) terms.erase(terms.begin() + static_cast<int64_t>(i));
  }
}

Linear linear_of(const Expr& e) {
  Linear out;
  switch (e->op) {
    case ir::Op::kInt:
      out.constant = e->i;
      return out;
    case ir::Op::kAdd:
    case ir::Op::kSub:
      out = linear_of(e->args[0]);
      out.add(linear_of(e->args[1]), e->op == ir::Op::kAdd ? 1 : -1);
      return out;
    case ir::Op::kNeg:
      out.add(linear_of(e->args[0]), -1);
      return out;
    case ir::Op::kMul: {
      const Linear a = linear_of(e->args[0]);
      const Linear b = linear_of(e->args[1]);
      if (!a.is_constant() && !b.is_constant()) break;
      out.add(a.is_constant() ? b : a, a.is_constant() ? a.constant : b.constant);
      return out;
    }
    default:
      break;
  }
  out.terms.emplace_back(e, 1);
  return out;
}

Linear difference(const Expr& a, const Expr& b) {
  Linear out = linear_of(a);
  out.add(linear_of(b), -1);
  return out;
}

Expr expr_of(const Linear& form) {
  // Positive terms first, so that H - 1 does not read -1 + H.
  Expr sum;
  for (const bool positive : {true, false}) {
    for (const auto& [atom, coefficient] : form.terms) {
      if ((coefficient > 0) != positive) continue;
      if (positive || !sum) {
        const Expr term = ir::make_int(coefficient) * atom;
        sum = sum ? sum + term : term;
      } else {
        sum = sum - ir::make_int(-coefficient) * atom;
      }
    }
  }
  if (!sum) return ir::make_int(form.constant);
  return form.constant < 0 ? sum - ir::make_int(-form.constant) : sum + ir::make_int(form.constant);
}

void Prover::add_variable(Interval v) {
  Linear span = difference(v.hi, v.lo);
  span.add(-1);
  if (span.is_constant()) {
    vacuous_ |= span.constant < 0;
  } else {
    facts_.push_back(std::move(span));  // a claim is about points, and a point is in its range
  }
  variables_.push_back(std::move(v));
}

void Prover::add_fact(const Expr& condition) {
  if (condition->op == ir::Op::kAnd) {
    add_fact(condition->args[0]);
    add_fact(condition->args[1]);
    return;
  }
  conditions_.push_back(condition);
  const bool strict = condition->op == ir::Op::kLt;
  if (!strict && condition->op != ir::Op::kLe && condition->op != ir::Op::kEq) return;
  if (is_float(condition->args[0]->type)) return;
  Linear form = difference(condition->args[1], condition->args[0]);
  if (strict) form.add(-1);
  facts_.push_back(std::move(form));
  if (condition->op == ir::Op::kEq) {
    facts_.push_back(difference(condition->args[0], condition->args[1]));
  }
}

void Prover::eliminate(const Interval& v, Linear& form) const {
  for (size_t i = 0; i < form.terms.size(); ++i) {
    if (!is_variable(form.terms[i].first) || form.terms[i].first->name != v.name) continue;
    Linear end = form.terms[i].second > 0 ? linear_of(v.lo) : linear_of(v.hi);
    if (form.terms[i].second < 0) end.add(-1);
    form = replaced(form, i, end);
    return;
  }
}

/// Eliminates the opaque atom at `at` by what bounds it.
bool Prover::prove_split(const Linear& form, size_t at, int* budget) const {
  const Expr atom = form.terms[at].first;
  const int64_t scale = form.terms[at].second;
  const auto with = [&](const Expr& by) {
    return prove(replaced(form, at, linear_of(by)), budget);
  };
  int64_t c = 0;
  switch (atom->op) {
    case ir::Op::kMod:
      if (!ir::is_const(atom->args[1], &c) || c <= 0) return false;
      return with(ir::make_int(scale > 0 ? 0 : c - 1));
    case ir::Op::kDiv: {
      if (!ir::is_const(atom->args[1], &c) || c <= 0) return false;
      // The form is an integer, so form >= 0 where c*form + c-1 >= 0; and c*floor(x/c) lies
      // between x-c+1 and x.
      Linear scaled;
      scaled.add(form, c);
      scaled.add(c - 1);
      scaled.terms[at].second = scale;
      Linear bound = linear_of(atom->args[0]);
      if (scale > 0) bound.add(1 - c);
      return prove(replaced(scaled, at, bound), budget);
    }
    case ir::Op::kMin:
    case ir::Op::kMax:
      if ((atom->op == ir::Op::kMin) == (scale > 0))
        return with(atom->args[0]) && with(atom->args[1]);
      return with(atom->args[0]) || with(atom->args[1]);
    case ir::Op::kSelect:
      return with(atom->args[1]) && with(atom->args[2]);
    case ir::Op::kMul: {
      // A product of two numbers that are not negative is not.
      if (scale < 0 || !prove(linear_of(atom->args[0]), budget) ||
          !prove(linear_of(atom->args[1]), budget)) {
        return false;
      }
      return with(ir::make_int(0));
    }
    default:
      return false;
  }
}

bool Prover::prove(Linear form, int* budget) const {
  if (form.overflow || --*budget < 0) return false;
  for (size_t i = 0; i < form.terms.size(); ++i) {
    if (is_opaque(form.terms[i].first)) return prove_split(form, i, budget);
  }
  for (size_t i = variables_.size(); i-- > 0;) {
    eliminate(variables_[i], form);
    for (size_t k = 0; k < form.terms.size(); ++k) {
      if (is_opaque(form.terms[k].first)) return prove_split(form, k, budget);
    }
  }
  __int128 least = form.constant;
  for (const auto& [atom, coefficient] : form.terms) {
    if (is_variable(atom)) return false;
    const auto dim = std::find_if(dims_->begin(), dims_->end(),
                                  [&](const ir::Dim& d) { return d.name == atom->name; });
    if (coefficient < 0 && dim == dims_->end()) return false;
    const int64_t end = dim == dims_->end() ? 0 : coefficient > 0 ? dim->lo : dim->hi;
    least += static_cast<__int128>(coefficient) * end;
  }
  return !form.overflow && least >= 0;
}

bool Prover::prove_with_facts(const Linear& form) const {
  int budget = kBudget;
  if (prove(form, &budget)) return true;
  for (size_t i = 0; i < facts_.size(); ++i) {
    Linear one = form;
    one.add(facts_[i], -1);
    budget = kBudget;
    if (prove(one, &budget)) return true;
  }
  for (size_t i = 0; i < facts_.size(); ++i) {
    for (size_t k = 0; k < i; ++k) {
      Linear two = form;
      two.add(facts_[i], -1);
      two.add(facts_[k], -1);
      budget = kBudget;
      if (prove(two, &budget)) return true;
    }
  }
  return false;
}

/// True when the form is surely negative at some point: all its variables range independently, and
/// its least value is a negative constant.
bool Prover::refute(Linear form) const {
  if (!conditions_.empty()) return false;
  for (const Interval& v : variables_) {
    for (const Interval& other : variables_) {
      if (ir::mentions_var(v.lo, other.name) || ir::mentions_var(v.hi, other.name)) return false;
    }
  }
  for (size_t i = variables_.size(); i-- > 0;) eliminate(variables_[i], form);
  return form.is_constant() && form.constant < 0;
}

Proof Prover::non_negative(const Expr& e) const {
  if (vacuous_) return Proof::kYes;
  const Linear form = linear_of(e);
  if (prove_with_facts(form)) return Proof::kYes;
  return refute(form) ? Proof::kNo : Proof::kUnknown;
}

bool Prover::implies(const Expr& condition) const {
  int64_t value = 0;
  if (vacuous_ || (ir::is_const(condition, &value) && value)) return true;
  for (const Expr& known : conditions_) {
    if (ir::equal(known, condition)) return true;
  }
  const auto holds = [&](const Expr& a, const Expr& b, int64_t slack) {
    Linear form = difference(a, b);
    form.add(slack);
    return prove_with_facts(form);
  };
  if (condition->args.size() != 2 || is_float(condition->args[0]->type)) return false;
  const Expr& a = condition->args[0];
  const Expr& b = condition->args[1];
  switch (condition->op) {
    case ir::Op::kAnd:
      return implies(a) && implies(b);
    case ir::Op::kOr:
      return implies(a) || implies(b);
    case ir::Op::kLe:
      return holds(b, a, 0);
    case ir::Op::kLt:
      return holds(b, a, -1);
    case ir::Op::kEq:
      return a->type != DType::kBool && holds(b, a, 0) && holds(a, b, 0);
    default:
      return false;
  }
}

Expr Prover::most(const Expr& e) const {
  Linear form;
  form.add(linear_of(e), -1);
  for (size_t i = variables_.size(); i-- > 0;) eliminate(variables_[i], form);
  if (form.overflow) return {};
  Linear out;
  out.add(form, -1);
  for (const auto& [atom, coefficient] : out.terms) {
    for (const Interval& v : variables_) {
      if (ir::mentions_var(atom, v.name)) return {};
    }
  }
  return expr_of(out);
}

void append_conjuncts(const Expr& e, std::vector<Expr>& out) {
  if (e->op == ir::Op::kAnd) {
    append_conjuncts(e->args[0], out);
    append_conjuncts(e->args[1], out);
    return;
  }
  for (const Expr& known : out) {
    if (ir::equal(known, e)) return;
  }
  out.push_back(e);
}

bool reads_data(const Expr& e) {
  if (e->op == ir::Op::kLoad) return true;
  return std::any_of(e->args.begin(), e->args.end(), reads_data);
}

}  // namespace hone::ops
