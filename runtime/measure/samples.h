// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "include/hone/thread_pool.h"

namespace hone::runtime {

/// What one stretch of work took.
struct Stretch {
  double wall_us = 0;
  double cpu_us = 0;          ///< processor time of the calling thread
  int64_t switched_away = 0;  ///< how often a thread of this process lost its core to another
  double process_us = 0;      ///< processor time of all threads
  double pause_us = 0;        ///< of the calling thread between calls, beside the wall time

  /// True when another process had a core meanwhile, so that the wall time is more than the work
  /// took. For one thread its processor time tells. Threads that wait for each other spin, so for
  /// them only a lost core tells.
  bool disturbed(bool alone) const;
  /// Cores that were at work on average. A thread that always waits for a core loses none: the
  /// others do its work, and this is less.
  double cores() const { return wall_us + pause_us > 0 ? process_us / (wall_us + pause_us) : 0; }
};

/// Runs `work` under the clocks.
Stretch stretch_of(const std::function<void()>& work);

/// Calls of a spaced stretch, at most: most of it are pauses.
/// Chosen: time that pauses may take (not measured).
inline constexpr int64_t kSpacedCalls = 8;

/// Calls `work` n times, each as an occasional caller does: after a pause in which the waiting
/// threads have gone to sleep. `before`, which may be empty, runs before each pause.
Stretch spaced_stretch_of(const std::function<void()>& work, int64_t n,
                          const std::function<void()>& before = {});

/// Runs `before` and then `work` n times; only `work` counts.
Stretch prepared_stretch_of(const std::function<void()>& before, const std::function<void()>& work,
                            int64_t n);

/// How often `before` may run in a sample: so often that it takes no more than some milliseconds.
int64_t calls_prepared_by(const std::function<void()>& before);

/// How a function is sampled.
struct SampleOptions {
  int samples = 5;
  double sample_us = 300;  ///< least length of a sample: short functions are repeated
  double give_up_us = 0;   ///< no more samples of a function that takes longer; 0: always all
  bool alone = true;       ///< the work runs on the calling thread only
  int64_t most_calls = 0;  ///< of a sample, however short that is; 0: any number
  /// Runs before each call and is not timed; may be empty.
  std::function<void()> before_call = {};
};

/// Times of one call, in microseconds.
struct Samples {
  std::vector<double> us;
  int quiet = 0;           ///< how many of all that were taken count
  int noisy = 0;           ///< those that do not: another process had a core meanwhile
  bool disturbed = false;  ///< too few undisturbed ones could be had: these are the fastest
  double cores = 0;        ///< that several threads had in the samples that count
};

/// With this many cores at work, where the same work has had `best`, some thread had none.
inline bool lacks_cores(double cores, double best) { return cores < 0.9 * best; }

/// Samples a function that `run(n)` calls n times back to back. A disturbed sample is dropped and
/// taken again; there are at most three times as many samples in all. A sample of several threads
/// also counts as disturbed when fewer cores were at work than in another. Where too few are left,
/// the processor time of one thread stands in.
Samples take_samples(const std::function<Stretch(int64_t n)>& run, const SampleOptions& options);

/// Samples `calls(n)`, n calls of a kernel. On one thread they run back to back, and only its own
/// time counts. With a pool they come as from an occasional caller, after pauses in which the
/// waiting threads have gone to sleep. `between`, which may be empty, runs before each sample and
/// is not timed.
Samples sample_calls(const std::function<void(int64_t n)>& calls, ThreadPool* pool,
                     SampleOptions options, const std::function<void()>& between = {});

}  // namespace hone::runtime
