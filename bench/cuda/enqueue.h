// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "bench/suites.h"
#include "runtime/engine/engine_state.h"

namespace hone::bench {

/// Whether the options ask for the group `enqueue`, which is no part of a run in pieces.
bool wants_enqueue(const Options& options);

/// The cost for the calling thread to enqueue kernels, over the driver's own launches of the same
/// kernels with the same arguments: processor time, a row for each kind of kernel. The exit code.
int run_enqueue(const Options& options, runtime::EngineState& engine);

}  // namespace hone::bench
