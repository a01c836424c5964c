// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "schedules/space/plan.h"

namespace hone::schedules {

/// An axis shorter than this is not worth a tile.
/// Tuned on: no GPU; reckoned for an H100.
inline constexpr int64_t kShortestSide = 16;
/// An axis shorter than this is not worth a tile of a warpgroup.
/// Tuned on: no GPU; reckoned for an H100.
inline constexpr int64_t kVeryShortSide = 4;

/// What a tile is made of: a reduction whose operands are each used again along one axis.
struct Product {
  std::string m, n, k;              ///< n is the axis of the contiguous store
  std::vector<std::string> others;  ///< index variables, a block each
  std::vector<std::string> operands;
  std::string missing;  ///< why there is none
};

/// The product that a stage is; `m` is empty where it is none. Sides and sum are at least `least`
/// long.
Product product_of(const Plan& plan, const std::string& name, int64_t least = kShortestSide);
/// The same where loads may leave their tensors, and the sum is as short as may be.
Product product_before_copies(const Plan& plan, const std::string& name, int64_t least);

/// The stage whose tile computes the product that `stage` is: the one reader of a temporary, point
/// for point, or the product's own.
std::string owner_of(const Plan& plan, const std::string& stage);

/// The product that `name` is, or whose epilogue it is, and its stage; `m` is empty where
/// there is none. Sides and sum are at least `least` long.
Product product_at(const Plan& plan, const std::string& name, std::string& stage,
                   int64_t least = kShortestSide);

/// The same where `name` is a stage at the root that may compute its tiles.
Product own_product(const Plan& plan, const std::string& name, std::string& stage,
                    int64_t least = kShortestSide);

}  // namespace hone::schedules
