// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace hone::schedules {

/// Neighbouring results y[i] = sum[r](g[r]*d[i+r]) by as many products as there are data: products
/// of combinations of g and of d are combined in turn.
///   y = result * (filter * g ./ divisors .* data * d)
/// Source: A. Toom and S. Cook's multiplication of polynomials, transposed; S. Winograd, Arithmetic
/// Complexity of Computations, 1980.
struct ToomCook {
  std::vector<std::vector<int64_t>> data;    ///< [products][products]
  std::vector<std::vector<int64_t>> filter;  ///< [products][taps]
  std::vector<int64_t> divisors;             ///< [products]
  std::vector<std::vector<int64_t>> result;  ///< [outputs][products]
};

/// The most products that results are combined of: the points are 0, 1, -1, 2, -2 and infinity.
/// Fixed by: points beyond them lose too many digits of f32.
inline constexpr int64_t kMostProducts = 6;

/// `outputs` results of `taps` terms each, two or more of both.
ToomCook toom_cook(int64_t outputs, int64_t taps);

}  // namespace hone::schedules
