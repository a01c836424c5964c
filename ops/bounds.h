// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "jit/ir/program.h"
#include "ops/linear.h"

namespace hone::ops {

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
  bool prove_bits(const Linear& form, size_t at, int* budget) const;
  bool within_block(const Linear& form, size_t at, int* budget) const;
  bool prove_mod(const Linear& form, size_t at, int* budget) const;
  bool prove_div(const Linear& form, size_t at, int* budget) const;
  bool is_natural(const ir::Expr& factor) const;
  bool is_positive(const ir::Expr& e, int* budget) const;
  std::optional<int64_t> end_of(const ir::Expr& atom, bool least) const;
  bool prove_with_facts(const Linear& form) const;
  bool refute(Linear form) const;
  bool eliminate(const Interval& v, Linear& form) const;

  const std::vector<ir::Dim>* dims_;
  std::vector<Interval> variables_;
  std::vector<Linear> facts_;         // each >= 0
  std::vector<ir::Expr> conditions_;  // as given
  bool vacuous_ = false;
};

/// The conditions that `e` joins by `&&`.
void append_conjuncts(const ir::Expr& e, std::vector<ir::Expr>& out);
/// What holds where `condition` does not.
ir::Expr negated(const ir::Expr& condition);
/// True when `e` reads a tensor.
bool reads_data(const ir::Expr& e);

}  // namespace hone::ops
