// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "include/hone/thread_pool.h"

namespace hone::runtime {

/// Waits, some 10 ms at most, until all workers of `pool` are on a core at once; false where they
/// never were. From then on a worker only leaves its core to be parked, or as an involuntary
/// switch, which is counted.
bool assemble(ThreadPool& pool);

}  // namespace hone::runtime
