// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "include/hone/error.h"
#include "include/hone/tune.h"
#include "jit/ir/target.h"
#include "ops/op.h"
#include "runtime/cache/cache.h"
#include "schedules/model/model.h"

namespace hone::runtime {

/// What one tuning run works on. References must outlive the run.
struct TuneJob {
  const ops::Problem& problem;
  const ir::Target& target;
  Key key;
  Cache& cache;
  const TuneOptions& options;
  std::string worker;  ///< the hone-worker program
  int gpu = 0;         ///< where it tunes for a target that is one
  /// The time that the machine's limits allow at each point where the problem is timed, as far as
  /// known. Asked again between trials, because a busy machine makes it too long. Empty: unknown.
  std::function<std::vector<double>()> limits_us;
  std::function<void(const std::string&)> on_bug;  ///< a candidate was quarantined: a repro line
  /// Of the estimate that ranks candidates.
  schedules::Terms weights = schedules::default_weights();
};

/// Searches the space of the problem's schedules. It proposes schedules, has a worker check and
/// time them, and keeps every trial in the cache as it is made. Then it ranks the finalists again
/// in a fresh worker and records the winner. A run of the same seed, strategy and effort carries on
/// where a killed one stopped.
Result<TuneResult> tune(const TuneJob& job);

}  // namespace hone::runtime
