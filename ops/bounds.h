// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "jit/ir/program.h"

namespace hone::ops {

/// `constant + sum of coefficient * atom`, over integers. Atoms are variables, dims, and whatever
/// is not linear (divisions, products of dims, min and max, loads), taken as a whole.
struct Linear {
  int64_t constant = 0;
  std::vector<std::pair<ir::Expr, int64_t>> terms;
  bool overflow = false;  ///< a coefficient left 64 bits: the form says nothing

  /// Adds `scale * other`.
  void add(const Linear& other, int64_t scale);
  /// Adds a constant.
  void add(int64_t value);
  /// True when it is a constant.
  bool is_constant() const { return !overflow && terms.empty(); }
};

/// The linear form of an i64 expression.
Linear linear_of(const ir::Expr& e);
/// a - b.
Linear difference(const ir::Expr& a, const ir::Expr& b);
/// The form as an expression.
ir::Expr expr_of(const Linear& form);

/// A variable with its range: lo <= name < hi. Ends may mention variables that come before.
struct Interval {
  std::string name;
  ir::Expr lo;
  ir::Expr hi;
};

/// What is known of a claim.
enum class Proof : uint8_t { kYes, kNo, kUnknown };

/// Proves inequalities over variables in ranges, dims in ranges, and facts. It eliminates what is
/// not linear by its bounds, then variables at the ends of their ranges, the last first, then dims.
class Prover {
 public:
  /// `dims` bound the kDim atoms; others are 0 or more.
  explicit Prover(const std::vector<ir::Dim>& dims) : dims_(&dims) {}

  /// Adds a variable; its range may mention those added before.
  void add_variable(Interval v);
  /// Adds what holds wherever the claims are made: a comparison, or a conjunction of such.
  void add_fact(const ir::Expr& condition);

  /// Is e >= 0 everywhere? kNo only when it surely fails somewhere.
  Proof non_negative(const ir::Expr& e) const;
  /// Does this comparison (or conjunction) hold everywhere?
  bool implies(const ir::Expr& condition) const;
  /// True when some variable has no value at all, so that every claim holds.
  bool vacuous() const { return vacuous_; }
  /// An upper bound of `e` without variables; null when none is found.
  ir::Expr most(const ir::Expr& e) const;

 private:
  bool prove(Linear form, int* budget) const;
  bool prove_split(const Linear& form, size_t at, int* budget) const;
  bool prove_with_facts(const Linear& form) const;
  bool refute(Linear form) const;
  void eliminate(const Interval& v, Linear& form) const;

  const std::vector<ir::Dim>* dims_;
  std::vector<Interval> variables_;
  std::vector<Linear> facts_;         // each >= 0
  std::vector<ir::Expr> conditions_;  // as given
  bool vacuous_ = false;
};

/// The conditions that `e` joins by `&&`.
void append_conjuncts(const ir::Expr& e, std::vector<ir::Expr>& out);
/// True when `e` reads a tensor.
bool reads_data(const ir::Expr& e);

}  // namespace hone::ops
