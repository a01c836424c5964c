// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>

#include "schedules/model/model.h"

namespace hone::schedules {

/// A schedule that was timed.
struct Timed {
  int problem = 0;  ///< the same for all schedules of one problem
  Terms terms{};
  double time_us = 0;
};

/// How well weights explain times. Only ratios within a problem count: estimates rank.
struct Fit {
  Terms weights{};
  double error = 0;  ///< the mean of |log(estimate / time)|, each problem's own factor taken out
};

/// The mean error of estimates with these weights; see Fit.
double error_of(std::span<const Timed> timed, const Terms& weights);

/// Weights, none negative, that make estimates follow times, by coordinate descent from `start`.
/// Squares of errors of logarithms count, and large errors less, so that no outlier decides. Each
/// problem counts alike. What the times say nothing of stays as it was, and so does the weight of
/// issue, which is the unit. The same input gives the same weights.
Fit fit(std::span<const Timed> timed, const Terms& start);

}  // namespace hone::schedules
