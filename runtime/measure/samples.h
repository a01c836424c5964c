// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

namespace hone::runtime {

/// What one stretch of work took.
struct Stretch {
  double wall_us = 0;
  double cpu_us = 0;          ///< processor time of the calling thread
  int64_t switched_away = 0;  ///< how often a thread of this process lost its core to another
  double process_us = 0;      ///< processor time of all threads

  /// Someone else had a core meanwhile: the wall time says more than what the work took. Of one
  /// thread its processor time tells; threads that wait for each other spin, so that only losing
  /// the core does.
  bool disturbed(bool alone) const;
  /// Cores that were at work on the average. A thread that waits for a core all the time loses
  /// none; what it leaves undone the others do, and this is less.
  double cores() const { return wall_us > 0 ? process_us / wall_us : 0; }
};

/// Runs `work` under the clocks.
Stretch stretch_of(const std::function<void()>& work);

/// How a function is sampled.
struct SampleOptions {
  int samples = 5;
  double sample_us = 300;  ///< least length of a sample: short functions are repeated
  double give_up_us = 0;   ///< no more samples of a function that takes longer; 0: always all
  bool alone = true;       ///< the work runs on the calling thread only
};

/// Times of one call, in microseconds.
struct Samples {
  std::vector<double> us;
  bool disturbed = false;  ///< too few undisturbed ones could be had: these are the fastest
  double cores = 0;        ///< that several threads had in the samples that count
};

/// With this many cores at work, where the same work has had `best`, some thread had none.
inline bool lacks_cores(double cores, double best) { return cores < 0.9 * best; }

/// Samples a function that `run(n)` calls n times back to back. Of a disturbed sample of one thread
/// the processor time counts; of several threads it is dropped and taken again, at most three times
/// as many in all, and so is one with fewer cores at work than another.
Samples take_samples(const std::function<Stretch(int64_t n)>& run, const SampleOptions& options);

}  // namespace hone::runtime
