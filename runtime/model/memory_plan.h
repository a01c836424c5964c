// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

namespace hone::runtime {

/// Where a tensor of a plan may begin, and how long its piece of the block is, in bytes.
/// Fixed by: a cache line, and the alignment that kernels may ask for.
inline constexpr int64_t kPlanAlignment = 64;

/// A tensor that lives from one step to another.
struct Lifetime {
  int64_t bytes = 0;
  int first = 0;  ///< the step that makes it
  int last = 0;   ///< the last one that reads it
};

/// Where tensors lie in one block. Two that live at the same time do not overlap.
struct MemoryPlan {
  std::vector<int64_t> offsets;  ///< per tensor, 64-byte aligned
  int64_t bytes = 0;             ///< of the block
  /// Bytes of all that lives at the step where most does: no plan takes less.
  int64_t least = 0;
};

/// The largest tensors are placed first, each in the smallest gap that it fits beside those alive
/// with it (best fit).
MemoryPlan plan_memory(const std::vector<Lifetime>& tensors);

}  // namespace hone::runtime
