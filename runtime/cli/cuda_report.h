// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runtime/cli/common.h"
#include "runtime/engine/build.h"

namespace hone::runtime {

/// Static facts of a problem's kernels for a GPU: `kernels`, an object each, and `compiler`. The
/// latter tells which compiler gave the register counts, or why there are none.
Json cuda_report(const Compiled& compiled, const ir::Target& target);

}  // namespace hone::runtime
