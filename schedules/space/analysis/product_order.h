// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "jit/ir/program.h"

namespace hone::schedules {

/// What the parts of a product under a sum cost, in instructions.
struct ProductCosts {
  /// How many values variables of the stage take together.
  std::function<double(const std::vector<std::string>& vars)> points;
  /// True of factors whose product is at hand before the call; may be null.
  std::function<bool(const std::vector<ir::Expr>& factors)> ready;
  /// How much slower a sum is whose products have more factors than two.
  double several = 1;
  /// Cost of an element of a partial result, which is written and read; half of it where it is
  /// ready.
  double element = 0;
  /// What reading an element costs besides, of a ready result with more elements than the last
  /// cache holds.
  double far = 0;
  double held = std::numeric_limits<double>::infinity();
  /// Cost of one more stage.
  double stage = 0;
  /// Elements that a partial result may have.
  double most = std::numeric_limits<double>::infinity();
};

/// An order in which a product under a sum multiplies.
struct ProductOrder {
  /// Positions for a `factor` step each, one after the other: in the product as the steps before
  /// leave it. None: all factors in one loop.
  std::vector<std::vector<size_t>> steps;
  double cost = 0;
  double together = 0;  ///< cost of all factors in one loop
};

/// The cheapest order of a sum of products, by dynamic programming over its factors (as
/// opt_einsum's `optimal`). No steps where the stage sums no product, or one of too many factors.
ProductOrder cheapest_order(const ir::Program& program, const ir::Stage& stage,
                            const ProductCosts& costs);

}  // namespace hone::schedules
