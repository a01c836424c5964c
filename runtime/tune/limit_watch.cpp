// SPDX-License-Identifier: Apache-2.0
#include "runtime/tune/limit_watch.h"

#include <algorithm>
#include <cmath>

namespace hone::runtime {
namespace {

/// Chosen: errors of the limit, and gains that are still worth a search (not measured).
constexpr double kAtLimit = 0.97;
constexpr auto kLookAgain = std::chrono::milliseconds(250);

}  // namespace

void LimitWatch::look() {
  if (!measure_) return;
  limits_us_ = measure_();
  double logs = 0;
  for (double us : limits_us_) logs += std::log(us);
  limit_us_ = limits_us_.empty() ? 0 : std::exp(logs / static_cast<double>(limits_us_.size()));
}

void LimitWatch::look_sometimes() {
  const auto now = Clock::now();
  if (now < next_look_) return;
  look();
  next_look_ = now + std::max<Clock::duration>(kLookAgain, now - start_);
}

bool LimitWatch::reached(double time_us) {
  if (share(time_us).of_limit < kAtLimit) return false;
  // It may have been measured while something else ran.
  look();
  return share(time_us).of_limit >= kAtLimit;
}

}  // namespace hone::runtime
