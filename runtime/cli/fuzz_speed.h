// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "runtime/engine/engine_state.h"

namespace hone::runtime {

/// How a random problem stands to the machine's limit.
struct SpeedSample {
  std::string line;       ///< problem and target
  double limit_us = 0;    ///< what the limit allows
  double default_us = 0;  ///< untuned
  double tuned_us = 0;    ///< after the budget of a problem

  double untuned() const { return limit_us / default_us; }
  double tuned() const { return limit_us / tuned_us; }
};

/// Which random problems are timed, and for how long.
struct SpeedOptions {
  uint64_t seed = 1;
  std::chrono::milliseconds time{60'000};   ///< of the run
  std::chrono::milliseconds budget{1'000};  ///< tuning one problem
  double least_us = 5, most_us = 2000;      ///< by the limit
};

/// What a run found.
struct SpeedRun {
  std::vector<SpeedSample> samples;
  std::vector<SpeedSample> beaten;  ///< faster than their limit
  int64_t unknown = 0;              ///< problems whose limit or default could not be measured
  std::vector<std::string> failed;  ///< what could not be tuned: the message, then the line
};

/// Tunes random problems of the whole language, one after the other, until the time is up.
SpeedRun fuzz_speed(EngineState& engine, const SpeedOptions& options);

/// The value that `share` (0..1) of the values lie below, of at least one.
double percentile(std::vector<double> values, double share);

}  // namespace hone::runtime
