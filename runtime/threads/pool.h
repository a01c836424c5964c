// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <memory>
#include <vector>

#include "include/hone/thread_pool.h"

namespace hone::runtime {

/// How the default pool behaves.
struct PoolOptions {
  int size = 0;                        ///< workers, the caller included; 0: one for each usable CPU
  std::chrono::microseconds spin{50};  ///< how long an idle worker looks for work before it parks
  /// Where its threads may run, each core the list of its CPUs; none: as who makes the pool.
  std::vector<std::vector<int>> cores = {};
};

/// The default pool: workers that spin for a bounded time, then sleep on a futex. A range is dealt
/// out evenly, so that the same worker meets the same data again; who is done takes from the
/// others. While another thread uses the pool, a call runs its range alone. So do calls too short
/// to wake workers that sleep (waking.h).
std::unique_ptr<ThreadPool> make_pool(const PoolOptions& options = {});

}  // namespace hone::runtime
