// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <optional>

namespace hone::runtime {

/// Whether to wake workers that sleep. The caller's time pays for it, so a short call runs alone.
/// What calls that follow one another closely have lost so pays as well. Not for several threads at
/// a time.
class Waking {
 public:
  using Clock = std::chrono::steady_clock;
  using Duration = std::chrono::duration<double, std::micro>;

  /// `awake`: how long a worker stays so when nothing is to be done.
  explicit Waking(Duration awake) : awake_(awake) {}

  /// A call of `n` iterations begins, which `workers` could share.
  void begin(int64_t n, int workers, Clock::time_point now);
  /// True of too few iterations to try one before the others are woken.
  bool are_few() const;
  /// Whether few iterations gain more than waking costs, by what as many took before.
  bool pays_at_once() const;
  /// True where what is left gains more than waking costs, after `done` iterations.
  bool pays(int64_t done, Clock::time_point now) const;
  /// The call has ended; `alone` where workers slept all the time.
  void end(bool alone, Clock::time_point now);
  /// Workers were woken, and all were there, or the call had ended, `after` so long.
  void woke(Duration after);
  /// The cost of waking, as far as it is known.
  Duration cost() const { return cost_; }

 private:
  Duration gain_of(Duration alone) const { return alone * (1 - 1.0 / workers_); }

  Duration awake_;
  /// Chosen: between the fastest and the slowest that were seen, until one is (not measured).
  Duration cost_{20};
  Duration lost_{0};  ///< by calls alone, each close to the one before
  Clock::time_point begun_{}, ended_{};
  int64_t n_ = 1;
  int workers_ = 1;
  /// Of one thread, by the number of iterations. Calls do not say what they are for, so those that
  /// are alike in this are taken together.
  /// Chosen: few iterations for many workers (not measured).
  std::array<std::optional<Duration>, 64> usual_{};
};

}  // namespace hone::runtime
