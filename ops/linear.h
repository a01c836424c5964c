// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "jit/ir/expr.h"

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

/// a * b, multiplied out; what would be long says nothing.
Linear product_of(const Linear& a, const Linear& b);
/// `form` with its products multiplied out, as far as they stay small.
Linear expanded(const Linear& form);
/// Sums, also those under divisions, in one form whatever way they were written: multiplied out as
/// far as they stay small, terms in order. What is equal so is equal as code computes it.
ir::Expr normal_form(const ir::Expr& e);
/// The factors of a product, without those that are 1.
void append_factors(const ir::Expr& e, std::vector<ir::Expr>& out);

}  // namespace hone::ops
