// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <functional>
#include <utility>
#include <vector>

#include "runtime/measure/bound.h"

namespace hone::runtime {

/// What the machine's limit allows, measured again now and then while a run goes on.
class LimitWatch {
 public:
  using Clock = std::chrono::steady_clock;
  /// Measures the limit in us at each point where the problem is timed.
  using Measure = std::function<std::vector<double>()>;

  /// `measure` may be empty: the limit is then unknown. `start`: when the run began.
  LimitWatch(Measure measure, Clock::time_point start)
      : measure_(std::move(measure)), start_(start) {}

  /// Measures once more.
  void look();
  /// The same between trials, ever more seldom.
  void look_sometimes();
  /// Has `time_us` reached the limit? Where it seems so, the limit is measured once more.
  bool reached(double time_us);
  /// How `time_us` stands to the limit.
  Share share(double time_us) const { return share_of(limit_us_, time_us); }
  /// The geometric mean of the points' limits in us; 0: unknown.
  double limit_us() const { return limit_us_; }
  /// The limit in us at each point, as far as it is known.
  const std::vector<double>& limits_us() const { return limits_us_; }

 private:
  Measure measure_;
  Clock::time_point start_;
  Clock::time_point next_look_;
  std::vector<double> limits_us_;
  double limit_us_ = 0;
};

}  // namespace hone::runtime
