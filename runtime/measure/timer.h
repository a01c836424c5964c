// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <vector>

namespace hone::runtime {

/// How a function is timed.
struct TimerOptions {
  double sample_us = 1000;   ///< least length of a sample: short functions are repeated
  double warm_up_us = 1000;  ///< run before the first sample
  int samples = 15;
  double budget_us = 500'000;  ///< fewer samples, but three at least, where they take longer
};

/// Times of one call of a function, in microseconds.
struct Timed {
  std::vector<double> samples_us;  ///< as measured, in order
  double median_us = 0;
};

/// Times `f`, which runs `n` times back to back when called with n.
Timed time_repeated(const std::function<void(int n)>& f, const TimerOptions& options = {});

/// The middle value; the mean of the two middle ones of an even number.
double median(std::vector<double> values);

}  // namespace hone::runtime
