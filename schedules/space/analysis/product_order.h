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
  /// What computing a factor takes besides its load, each time; none where null.
  std::function<double(const ir::Expr& factor)> factor;
  /// Results of a loop that share a factor computed once, where it does not tell them apart.
  double sharing = 1;
  /// How much slower a sum is whose products have more factors than two.
  double several = 1;
  /// Cost of an element of a partial result, which is written and read.
  double element = 0;
  /// Cost of reading an element of a ready result of that size; by default half of the above.
  std::function<double(double elements)> ready_element;
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
  double products = 0;  ///< the same but for computing the factors
};

/// The cheapest order of a sum of products, by dynamic programming over its factors (as
/// opt_einsum's `optimal`). No steps where the stage sums no product, or one of too many factors.
ProductOrder cheapest_order(const ir::Program& program, const ir::Stage& stage,
                            const ProductCosts& costs);

}  // namespace hone::schedules
