// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "bench/cuda/results.h"

namespace hone::bench {

/// Adds what PyTorch takes for the problems of `groups`, as it comes, compiled by it, and by Triton
/// where that is a kernel of its own; nothing where Python has no torch.
void run_torch(const std::vector<GpuGroup>& groups, GpuResults& results);

}  // namespace hone::bench
