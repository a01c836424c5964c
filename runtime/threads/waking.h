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

  /// A call of `n` iterations begins, which `workers` could share, some of them asleep. `kind` is
  /// the same for calls that are alike, as far as is known.
  void begin(size_t kind, int64_t n, int workers, Clock::time_point now);
  /// Whether few iterations gain more than waking costs, by what calls alike took before. False of
  /// many: one of those is tried.
  bool pays_at_once() const;
  /// True where what is left gains more than waking costs, after `done` iterations. Those that were
  /// done when it is first asked count only where they took long: caches were cold.
  bool pays(int64_t done, Clock::time_point now);
  /// The call has ended, to which `workers` came in all. Those that were woken came `after` so long
  /// on average; 0: none was.
  void end(int workers, Duration after, Clock::time_point now);
  /// The cost of waking, as far as it is known.
  Duration cost() const { return cost_; }

 private:
  /// Chosen: between the fastest and the slowest that were seen, until one is (not measured).
  static constexpr Duration kUsualCost{20};

  bool are_few() const;
  Duration gain_of(Duration alone) const { return alone * (1 - 1.0 / workers_); }
  size_t alike() const { return (kind_ + static_cast<size_t>(n_)) % usual_.size(); }

  Duration awake_;
  Duration cost_ = kUsualCost;
  Duration lost_{0};  ///< by calls alone, each close to the one before
  Clock::time_point begun_{}, ended_{};
  Clock::time_point warm_{};  ///< since when iterations count
  int64_t before_ = 0;        ///< iterations until then
  size_t kind_ = 0;
  int64_t n_ = 1;
  int workers_ = 1;
  /// What one thread takes for few iterations, by the kind and number of them.
  /// Chosen: more than there are kinds (not measured).
  std::array<std::optional<Duration>, 64> usual_{};
};

}  // namespace hone::runtime
