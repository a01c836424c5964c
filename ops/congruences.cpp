// SPDX-License-Identifier: Apache-2.0
#include "ops/congruences.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "jit/ir/integers.h"
#include "jit/ir/recurrence.h"
#include "jit/ir/scatter.h"
#include "ops/linear.h"

namespace hone::ops {
namespace {

using ir::Expr;
using ir::Op;

/// Factors of indices stay small: their products are computed in 64 bits.
/// Fixed by: products of two of them.
constexpr int64_t kMostModulus = int64_t{1} << 31;

int64_t floor_mod(int64_t a, int64_t n) { return (a % n + n) % n; }

/// x with a*x % n == 1; 0 where there is none. 0 <= a < n.
int64_t inverse_of(int64_t a, int64_t n) {
  int64_t r = n, next = a, x = 0, next_x = 1;
  while (next != 0) {
    const int64_t q = r / next;
    r = std::exchange(next, r - q * next);
    x = std::exchange(next_x, x - q * next_x);
  }
  return r == 1 ? floor_mod(x, n) : 0;
}

/// `form` with factors next to 0 that are the same modulo n.
Linear reduced(const Linear& form, int64_t n) {
  const auto near = [&](int64_t c) {
    const int64_t m = floor_mod(c, n);
    return m > n / 2 ? m - n : m;
  };
  Linear out;
  out.constant = near(form.constant);
  for (const auto& [atom, factor] : form.terms) {
    if (near(factor) != 0) out.terms.emplace_back(atom, near(factor));
  }
  return out;
}

Linear scaled(const Linear& form, int64_t factor) {
  Linear out;
  out.add(form, factor);
  return out;
}

/// The factor of a variable in a form; none where it stands in an atom beside.
std::optional<int64_t> factor_of(const Linear& form, const std::string& var) {
  int64_t out = 0;
  if (form.overflow) return std::nullopt;
  for (const auto& [atom, factor] : form.terms) {
    if (atom->op == Op::kVar && atom->name == var) {
      out = factor;
    } else if (ir::mentions_var(atom, var)) {
      return std::nullopt;
    }
  }
  return out;
}

/// `sum % modulus == remainder`.
struct Congruence {
  Linear sum;
  int64_t modulus = 0;
  int64_t remainder = 0;
};

std::optional<Congruence> congruence_of(const Expr& e) {
  Congruence out;
  if (e->op != Op::kEq) return std::nullopt;
  const bool swapped = e->args[1]->op == Op::kMod;
  const Expr& mod = e->args[swapped ? 1 : 0];
  if (mod->op != Op::kMod || mod->type != DType::kI64) return std::nullopt;
  // A sum that wraps around has another remainder.
  if (!ir::stays_near(mod->args[0])) return std::nullopt;
  if (!ir::is_const(mod->args[1], &out.modulus)) return std::nullopt;
  if (!ir::is_const(e->args[swapped ? 0 : 1], &out.remainder)) return std::nullopt;
  if (out.modulus < 2 || out.modulus > kMostModulus) return std::nullopt;
  if (out.remainder < 0 || out.remainder >= out.modulus) return std::nullopt;
  out.sum = linear_of(mod->args[0]);
  return out;
}

/// The places of an index where a congruence holds: `k = n*k + first`.
class Solution {
 public:
  /// Of `c`, in which `var` has a factor that has an inverse.
  Solution(const Congruence& c, std::string var, int64_t factor)
      : var_(std::move(var)), factor_(factor), n_(c.modulus), sum_(c.sum) {
    sum_.add(-c.remainder);
    rest_ = sum_;
    rest_.add(linear_of(ir::make_var(var_)), -factor);
    const int64_t inverse = inverse_of(floor_mod(factor, n_), n_);
    first_ = ir::make_binary(Op::kMod, expr_of(reduced(scaled(reduced(rest_, n_), -inverse), n_)),
                             ir::make_int(n_));
  }

  Expr place() const { return ir::make_int(n_) * ir::make_var(var_) + first_; }

  Expr substitute(const Expr& e) const {
    if (!e || !ir::mentions_var(e, var_)) return e;
    if (e->op == Op::kVar) return place();
    int64_t divisor = 0;
    const bool divides = e->op == Op::kDiv && e->type == DType::kI64 && ir::stays_near(e->args[0]);
    if (divides && ir::is_const(e->args[1], &divisor) && divisor == n_) {
      if (Expr quotient = quotient_of(linear_of(e->args[0]))) return quotient;
    }
    std::vector<Expr> args;
    for (const Expr& a : e->args) args.push_back(substitute(a));
    return ir::with_args(e, std::move(args));
  }

 private:
  static Expr floor_of(const Linear& form, int64_t n) {
    return ir::make_binary(Op::kDiv, expr_of(form), ir::make_int(n));
  }

  /// `form / n` without a division of the variable; null where it stands in a division.
  Expr quotient_of(const Linear& form) const {
    const std::optional<int64_t> factor = factor_of(form, var_);
    if (!factor) return {};
    const Expr var = ir::make_var(var_);
    Linear beside = form;  // n times a number, which the sum is, is taken out
    beside.add(sum_, -1);
    if (beside.is_constant() && (factor_ == 1 || factor_ == -1)) {
      const int64_t constant = beside.constant;
      const Expr added = ir::make_int((constant - floor_mod(constant, n_)) / n_);
      return factor_ == -1 ? floor_of(rest_, n_) - var + added
                           : var - floor_of(scaled(rest_, -1), n_) + added;
    }
    Linear other = form;
    other.add(linear_of(var), -*factor);
    other.add(linear_of(first_), *factor);
    if (other.overflow) return {};
    return floor_of(other, n_) + ir::make_int(*factor) * var;
  }

  std::string var_;
  int64_t factor_, n_;
  Linear sum_;   ///< what n divides
  Linear rest_;  ///< of that, all but the variable
  Expr first_;
};

/// True of a variable from 0 to a bound of its own.
bool stands_alone(const ir::Stage& s, const ir::IndexVar& v) {
  if (v.lo) return false;
  const auto bounds = [&](const ir::IndexVar& other) {
    return (other.lo && ir::mentions_var(other.lo, v.name)) || ir::mentions_var(other.hi, v.name);
  };
  return std::none_of(s.rvars.begin(), s.rvars.end(), bounds);
}

void append_conditions(const Expr& e, std::vector<Expr>& out) {
  if (e->op != Op::kAnd) return out.push_back(e);
  for (const Expr& a : e->args) append_conditions(a, out);
}

/// True where a load's index reads data that `var` chooses.
bool data_choose(const Expr& value, const std::string& var) {
  return ir::any_node(value, [&](const Expr& e) {
    return e->op == Op::kLoad && std::any_of(e->args.begin(), e->args.end(), [&](const Expr& a) {
             return ir::mentions_var(a, var) && ir::mentions_load(a);
           });
  });
}

/// A value with loads at places that `var` may take past its end made conditional.
Expr guarded(const Expr& e, const std::string& var) {
  if (!ir::mentions_var(e, var)) return e;
  std::vector<Expr> args;
  for (const Expr& a : e->args) args.push_back(guarded(a, var));
  if (e->op != Op::kLoad || e->guarded) return ir::with_args(e, std::move(args));
  return ir::make_load(e->name, e->type, std::move(args), ir::identity(ir::Reduce::kSum, e->type));
}

/// The terms of a reduction, `select(conditions, value, nothing)`.
class Terms {
 public:
  explicit Terms(ir::Stage& stage) : stage_(stage), value_(stage.value) {
    const Expr nothing = ir::identity(stage.reduce, stage.value->type);
    while (value_->op == Op::kSelect && ir::equal(value_->args[2], nothing)) {
      append_conditions(value_->args[0], conditions_);
      value_ = Expr(value_->args[1]);
    }
  }

  /// Solves one of the conditions; false where there is none to solve.
  bool solve() {
    for (size_t i = 0; i < conditions_.size(); ++i) {
      const std::optional<Congruence> c = congruence_of(conditions_[i]);
      for (ir::IndexVar& v : stage_.rvars) {
        if (c && solve(*c, v, i)) return true;
      }
    }
    return false;
  }

  /// The stage computes what is left.
  void store() {
    Expr all;
    for (const Expr& c : conditions_) all = all ? ir::make_binary(Op::kAnd, all, c) : c;
    const Expr nothing = ir::identity(stage_.reduce, value_->type);
    stage_.value = all ? ir::make_select(all, value_, nothing) : value_;
  }

 private:
  bool solve(const Congruence& c, ir::IndexVar& v, size_t condition) {
    const std::optional<int64_t> factor = factor_of(c.sum, v.name);
    if (!factor || inverse_of(floor_mod(*factor, c.modulus), c.modulus) == 0) return false;
    if (!stands_alone(stage_, v)) return false;
    int64_t extent = 0;
    const bool divides = ir::is_const(v.hi, &extent) && extent % c.modulus == 0;
    if (!divides && data_choose(value_, v.name)) return false;
    const Solution solution(c, v.name, *factor);
    conditions_.erase(conditions_.begin() + static_cast<std::ptrdiff_t>(condition));
    for (Expr& e : conditions_) e = solution.substitute(e);
    if (stage_.where) stage_.where = solution.substitute(stage_.where);
    value_ = solution.substitute(value_);
    if (!divides) {
      conditions_.push_back(ir::make_binary(Op::kLt, solution.place(), v.hi));
      value_ = guarded(value_, v.name);
    }
    v.hi = ir::make_binary(Op::kDiv, v.hi + ir::make_int(c.modulus - 1), ir::make_int(c.modulus));
    return true;
  }

  ir::Stage& stage_;
  Expr value_;
  std::vector<Expr> conditions_;
};

/// True of a reduction to which a term that is nothing is none. It begins with the value of an
/// empty one, and no term is checked for where it goes.
bool leaves_out(const ir::Stage& s) {
  return s.reduce != ir::Reduce::kNone && !s.from_old && !ir::is_recurrence(s) &&
         ir::scattered_vars(s).empty();
}

}  // namespace

void solve_congruences(ir::Program& program) {
  for (size_t i = 0; i < program.stages.size(); ++i) {
    ir::Stage s = program.stages[i];
    if (!leaves_out(s)) continue;
    Terms terms(s);
    bool any = false;
    while (terms.solve()) any = true;
    if (!any) continue;
    terms.store();
    program.stages.edit(i) = std::move(s);
  }
}

}  // namespace hone::ops
