// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "hone/export.h"

namespace hone {

/// Threads that kernels run on. A host with a pool of its own derives from this and passes it in
/// EngineOptions; it must outlive every kernel of that engine.
class HONE_API ThreadPool {
 public:
  /// Runs [begin, end) of a range. `worker` is in [0, size()) and no two tasks that run at the same
  /// time within one parallel_for have the same: it selects scratch memory.
  using Task = void (*)(void* context, int64_t begin, int64_t end, int worker);

  virtual ~ThreadPool();

  /// The number of workers, the calling thread included: at least 1. Asked once by each engine.
  virtual int size() = 0;

  /// Covers [0, n) by calls of `task` on disjoint sub-ranges, in any order and number, and returns
  /// when all are done. Called from any thread, several at a time. Where it throws, no task is
  /// under way any more nor will be: the call ends with ErrorCode::kArgument.
  virtual void parallel_for(int64_t n, Task task, void* context) = 0;
};

}  // namespace hone
