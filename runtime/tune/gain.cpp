// SPDX-License-Identifier: Apache-2.0
#include "runtime/tune/gain.h"

#include <algorithm>
#include <cmath>

namespace hone::runtime {
namespace {

/// Chosen: fewer say nothing of a rate (not measured).
constexpr size_t kFewestTrials = 8;  // trials

}  // namespace

double expected_gain(std::span<const double> times_us, double of_limit) {
  if (times_us.size() < kFewestTrials) return 0;
  const auto middle = times_us.begin() + static_cast<std::ptrdiff_t>(times_us.size() / 2);
  const double first = *std::min_element(times_us.begin(), middle);
  const double last = *std::min_element(middle, times_us.end());
  if (!std::isfinite(first) || !std::isfinite(last)) return 0;
  const double gain = std::max(0.0, 1 - last / first);
  return of_limit > 0 ? std::min(gain, std::max(0.0, 1 - of_limit)) : gain;
}

}  // namespace hone::runtime
