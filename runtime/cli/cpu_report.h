// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ops/op.h"
#include "runtime/cli/common.h"
#include "runtime/engine/build.h"

namespace hone::runtime {

/// Facts of a problem and its kernel on a CPU, at the dims that it is timed at. Of the problem:
/// useful operations, bytes at least, the limit, and how the best known schedule stands to it. Of
/// the kernel: bytes by the level that gives them, the time of each port and level, and `bound`,
/// the one that takes longest. `kernels` counts each launch, element by element. Only the counts
/// and the limit are exact, see jit/native/report.
Json cpu_report(EngineState& engine, const ops::Problem& problem, const Compiled& compiled);

}  // namespace hone::runtime
