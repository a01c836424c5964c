// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>

namespace hone::runtime {

/// Spearman's rank correlation of pairs: 1 where both order them alike, -1 where in reverse. Equal
/// values share the mean of their ranks. 0 of fewer than two pairs, or where one side is constant.
double rank_correlation(std::span<const double> a, std::span<const double> b);

}  // namespace hone::runtime
