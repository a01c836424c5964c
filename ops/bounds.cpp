// SPDX-License-Identifier: Apache-2.0
#include "ops/bounds.h"

#include <algorithm>
#include <bit>
#include <numeric>

#include "jit/ir/integers.h"

namespace hone::ops {
namespace {

using ir::Expr;

constexpr int kBudget = 400;  // steps of one proof

bool is_variable(const Expr& e) { return e->op == ir::Op::kVar; }

bool is_monomial(const Expr& e);

/// Is this atom made of more than variables and dims?
bool is_opaque(const Expr& e) { return !is_monomial(e); }

/// A product of variables and dims alone.
bool is_monomial(const Expr& e) {
  if (e->op == ir::Op::kMul) return is_monomial(e->args[0]) && is_monomial(e->args[1]);
  return e->op == ir::Op::kVar || e->op == ir::Op::kDim;
}

bool reads_variable(const Expr& e) {
  return is_variable(e) || std::any_of(e->args.begin(), e->args.end(), reads_variable);
}

/// A form that is negative where `form` is: both are integers, and so is what a common factor
/// leaves of the constant.
Linear in_lowest_terms(Linear form) {
  int64_t factor = 0;
  for (const auto& [atom, coefficient] : form.terms) {
    if (coefficient == INT64_MIN) return form;
    factor = std::gcd(factor, coefficient);
  }
  if (factor <= 1 || form.overflow) return form;
  for (auto& [atom, coefficient] : form.terms) coefficient /= factor;
  form.constant = ir::floor_div_of(form.constant, factor);
  return form;
}

/// `form` with the term at `at` replaced by coefficient * `by`.
Linear replaced(const Linear& form, size_t at, const Linear& by) {
  Linear out = form;
  const int64_t scale = out.terms[at].second;
  out.terms.erase(out.terms.begin() + static_cast<int64_t>(at));
  out.add(by, scale);
  return out;
}

}  // namespace

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
  if (!strict && condition->op != ir::Op::kLe && condition->op != ir::Op::kEq &&
      condition->op != ir::Op::kNe) {
    return;
  }
  // Narrower integers wrap.
  if (condition->args[0]->type != DType::kI64) return;
  if (condition->op == ir::Op::kNe) {
    // What is not at an end of its range lies inside.
    for (const int64_t sign : {1, -1}) {
      Linear apart;
      apart.add(difference(condition->args[0], condition->args[1]), sign);
      if (!prove_with_facts(apart)) continue;
      apart.add(-1);
      facts_.push_back(std::move(apart));
      return;
    }
    return;
  }
  Linear form = difference(condition->args[1], condition->args[0]);
  if (strict) form.add(-1);
  facts_.push_back(std::move(form));
  if (condition->op == ir::Op::kEq) {
    facts_.push_back(difference(condition->args[0], condition->args[1]));
  }
}

/// Replaces a variable, in each term that has it, by the end of its range that makes the term
/// least. False where the sign of its factor is not known.
bool Prover::eliminate(const Interval& v, Linear& form) const {
  for (size_t i = 0; i < form.terms.size();) {
    const Expr atom = form.terms[i].first;
    if (!ir::mentions_var(atom, v.name) || is_opaque(atom)) {
      ++i;
      continue;
    }
    std::vector<Expr> factors;
    append_factors(atom, factors);
    Linear others;
    others.add(1);
    bool found = false;
    for (const Expr& f : factors) {
      const bool here = is_variable(f) && f->name == v.name;
      if (!here && !is_natural(f)) return false;
      if (here && !found) {
        found = true;
      } else {
        others = product_of(others, linear_of(f));
      }
    }
    Linear end = expanded(linear_of(form.terms[i].second > 0 ? v.lo : v.hi));
    if (form.terms[i].second < 0) end.add(-1);
    form = replaced(form, i, factors.size() == 1 ? end : product_of(end, others));
    i = 0;
  }
  return true;
}

/// Is this factor, a variable or a dim, never negative?
bool Prover::is_natural(const Expr& factor) const {
  if (factor->op == ir::Op::kDim) return true;
  for (const Interval& v : variables_) {
    int64_t lo = -1;
    if (v.name != factor->name) continue;
    return (ir::is_const(v.lo, &lo) && lo >= 0) || (v.lo->op == ir::Op::kVar && is_natural(v.lo));
  }
  return false;
}

/// Is this at least 1 wherever the variables have values?
bool Prover::is_positive(const Expr& e, int* budget) const {
  Linear form = expanded(linear_of(e));
  form.add(-1);
  if (prove(form, budget)) return true;
  for (const Linear& fact : facts_) {
    Linear rest = form;
    rest.add(fact, -1);
    if (prove(rest, budget)) return true;
    // A product of natural numbers is 1 or more where each of them is.
    const Linear known = expanded(fact);
    if (known.constant >= 0 || known.terms.size() != 1 || known.terms[0].second <= 0) continue;
    std::vector<Expr> factors;
    append_factors(known.terms[0].first, factors);
    bool natural = !is_opaque(known.terms[0].first), found = false;
    for (const Expr& f : factors) {
      natural = natural && is_natural(f);
      found |= ir::equal(f, e);
    }
    if (natural && found) return true;
  }
  return false;
}

/// Eliminates the opaque atom at `at` by what bounds it.
bool Prover::prove_split(const Linear& form, size_t at, int* budget) const {
  const Expr atom = form.terms[at].first;
  const int64_t scale = form.terms[at].second;
  const auto with = [&](const Expr& by) {
    return prove(replaced(form, at, linear_of(by)), budget);
  };
  switch (atom->op) {
    case ir::Op::kMod:
      return prove_mod(form, at, budget);
    case ir::Op::kDiv:
      return prove_div(form, at, budget);
    case ir::Op::kMin:
    case ir::Op::kMax:
      if ((atom->op == ir::Op::kMin) == (scale > 0))
        return with(atom->args[0]) && with(atom->args[1]);
      return with(atom->args[0]) || with(atom->args[1]);
    case ir::Op::kBitAnd:
    case ir::Op::kBitOr:
    case ir::Op::kBitXor:
    case ir::Op::kShr:
      return prove_bits(form, at, budget);
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

/// x & y lies between 0 and either operand that is not negative, and x >> n between 0 and x. Of two
/// such operands x | y and x ^ y are at most x + y.
bool Prover::prove_bits(const Linear& form, size_t at, int* budget) const {
  const Expr atom = form.terms[at].first;
  const auto natural = [&](size_t i) { return prove(linear_of(atom->args[i]), budget); };
  const auto with = [&](const Linear& by) { return prove(replaced(form, at, by), budget); };
  const bool least = form.terms[at].second > 0;
  if (atom->op == ir::Op::kBitOr || atom->op == ir::Op::kBitXor) {
    if (within_block(form, at, budget)) return true;
    if (!natural(0) || !natural(1)) return false;
    Linear most = linear_of(atom->args[0]);
    most.add(linear_of(atom->args[1]), 1);
    return with(least ? Linear() : most);
  }
  for (size_t i = 0; i < (atom->op == ir::Op::kBitAnd ? 2u : 1u); ++i) {
    if (natural(i) && with(least ? Linear() : linear_of(atom->args[i]))) return true;
  }
  return false;
}

/// x | c and x ^ c of a constant lie in the block in which x is. Blocks are of a power of two that
/// is more than c.
bool Prover::within_block(const Linear& form, size_t at, int* budget) const {
  const Expr atom = form.terms[at].first;
  int64_t bits = 0;
  if (!ir::is_const(atom->args[1], &bits) || bits < 0 || bits > INT32_MAX) return false;
  const auto block = static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(bits) + 1));
  Linear end = linear_of(ir::make_binary(ir::Op::kDiv, atom->args[0], ir::make_int(block)) *
                         ir::make_int(block));
  if (form.terms[at].second < 0) end.add(block - 1);
  return prove(replaced(form, at, end), budget);
}

/// x % d is 0 or more, less than d, and at most x where x is not negative; x % 0 is 0.
bool Prover::prove_mod(const Linear& form, size_t at, int* budget) const {
  const Expr &x = form.terms[at].first->args[0], &d = form.terms[at].first->args[1];
  const auto with = [&](const Linear& by) { return prove(replaced(form, at, by), budget); };
  if (!prove(linear_of(d), budget)) return false;
  if (form.terms[at].second > 0) return with(linear_of(ir::make_int(0)));
  Linear most = linear_of(d);
  most.add(-1);
  if (is_positive(d, budget) && with(most)) return true;
  return prove(linear_of(x), budget) && with(linear_of(x));
}

/// x / d lies between 0 and x where neither is negative. The form is an integer, so form >= 0 where
/// d*form + d-1 >= 0; and d*floor(x/d) lies between x-d+1 and x.
bool Prover::prove_div(const Linear& form, size_t at, int* budget) const {
  const Expr &x = form.terms[at].first->args[0], &d = form.terms[at].first->args[1];
  const int64_t scale = form.terms[at].second;
  if (is_positive(d, budget)) {
    const Linear divisor = expanded(linear_of(d));
    Linear rest = form;
    rest.terms.erase(rest.terms.begin() + static_cast<int64_t>(at));
    Linear scaled = product_of(expanded(rest), divisor);
    scaled.add(divisor, 1);
    scaled.add(-1);
    Linear bound = linear_of(x);
    if (scale > 0) {
      bound.add(divisor, -1);
      bound.add(1);
    }
    scaled.add(bound, scale);
    if (prove(scaled, budget)) return true;
    // The quotient of the end of x: of `2*(i/3)` for i < 6 at most 2, where 2*i/3 is 10/3.
    const auto minus = [](const Expr& e) { return ir::make_unary(ir::Op::kNeg, e); };
    const Expr end = scale < 0 ? most(x) : most(minus(x));
    const Expr quotient =
        end ? ir::make_binary(ir::Op::kDiv, scale < 0 ? end : minus(end), d) : Expr();
    if (quotient && prove(replaced(form, at, linear_of(quotient)), budget)) return true;
  }
  if (!prove(linear_of(d), budget) || !prove(linear_of(x), budget)) return false;
  return prove(replaced(form, at, linear_of(scale > 0 ? ir::make_int(0) : x)), budget);
}

bool Prover::prove(Linear form, int* budget) const {
  if (form.overflow || --*budget < 0) return false;
  form = in_lowest_terms(expanded(form));
  for (size_t i = 0; i < form.terms.size(); ++i) {
    if (is_opaque(form.terms[i].first)) return prove_split(form, i, budget);
  }
  for (size_t i = variables_.size(); i-- > 0;) {
    if (!eliminate(variables_[i], form)) return false;
    for (size_t k = 0; k < form.terms.size(); ++k) {
      if (is_opaque(form.terms[k].first)) return prove_split(form, k, budget);
    }
  }
  __int128 least = form.constant;
  for (const auto& [atom, coefficient] : form.terms) {
    const auto end = end_of(atom, coefficient > 0);
    int64_t term = 0;
    if (!end || __builtin_mul_overflow(coefficient, *end, &term)) return false;
    least += term;
  }
  return !form.overflow && least >= 0;
}

/// The least or the greatest value of a product of dims; nothing of one that has variables.
std::optional<int64_t> Prover::end_of(const Expr& atom, bool least) const {
  if (is_variable(atom)) return std::nullopt;
  if (atom->op == ir::Op::kMul) {
    const auto a = end_of(atom->args[0], least), b = end_of(atom->args[1], least);
    int64_t product = 0;
    if (!a || !b || __builtin_mul_overflow(*a, *b, &product)) return std::nullopt;
    return product;
  }
  const auto dim = std::find_if(dims_->begin(), dims_->end(),
                                [&](const ir::Dim& d) { return d.name == atom->name; });
  if (dim != dims_->end()) return least ? dim->lo : dim->hi;
  return least ? std::optional<int64_t>(0) : std::nullopt;
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
  for (const auto& [atom, coefficient] : form.terms) {
    if (atom->op == ir::Op::kMul) return false;
  }
  for (const Interval& v : variables_) {
    for (const Interval& other : variables_) {
      if (ir::mentions_var(v.lo, other.name) || ir::mentions_var(v.hi, other.name)) return false;
    }
  }
  for (size_t i = variables_.size(); i-- > 0;) {
    if (!eliminate(variables_[i], form)) return false;
  }
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
  for (const auto& [atom, coefficient] : form.terms) {
    if (is_monomial(atom) && !is_variable(atom) && reads_variable(atom)) return {};
  }
  for (size_t i = variables_.size(); i-- > 0;) {
    if (!eliminate(variables_[i], form)) return {};
  }
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

Expr negated(const Expr& e) {
  switch (e->op) {
    case ir::Op::kNot:
      return e->args[0];
    case ir::Op::kLt:
    case ir::Op::kLe:
      if (is_float(e->args[0]->type)) break;  // NaN is neither
      return ir::make_binary(e->op == ir::Op::kLt ? ir::Op::kLe : ir::Op::kLt, e->args[1],
                             e->args[0]);
    case ir::Op::kEq:
    case ir::Op::kNe:
      return ir::make_binary(e->op == ir::Op::kEq ? ir::Op::kNe : ir::Op::kEq, e->args[0],
                             e->args[1]);
    case ir::Op::kAnd:
    case ir::Op::kOr:
      return ir::make_binary(e->op == ir::Op::kAnd ? ir::Op::kOr : ir::Op::kAnd,
                             negated(e->args[0]), negated(e->args[1]));
    default:
      break;
  }
  return ir::make_unary(ir::Op::kNot, e);
}

bool reads_data(const Expr& e) {
  if (e->op == ir::Op::kLoad) return true;
  return std::any_of(e->args.begin(), e->args.end(), reads_data);
}

}  // namespace hone::ops
