// SPDX-License-Identifier: Apache-2.0
#include "jit/cuda/occupancy.h"

#include <algorithm>

#include "jit/ir/integers.h"

namespace hone::jit {
Occupancy occupancy(const BlockNeeds& needs, const ir::DeviceLimits& limits) {
  const int64_t warps = (needs.threads + ir::DeviceLimits::kWarp - 1) / ir::DeviceLimits::kWarp;
  Occupancy out;
  int64_t blocks = limits.blocks;
  out.limit = "blocks";
  const auto limit = [&](int64_t most, std::string_view by) {
    if (most >= blocks) return;
    blocks = most;
    out.limit = by;
  };
  limit(limits.threads / ir::DeviceLimits::kWarp / warps, "threads");
  if (needs.registers > 0) {
    // A multiprocessor has four parts, each with a quarter of the registers and of the warps.
    // Fixed by: all GPUs of sm_70 and above.
    constexpr int64_t kParts = 4;
    const int64_t of_warp =
        ir::round_up(int64_t{needs.registers} * ir::DeviceLimits::kWarp, limits.register_unit);
    const int64_t fitting = limits.registers / kParts / of_warp * kParts;
    limit(needs.registers > ir::DeviceLimits::kThreadRegisters ? 0 : fitting / warps, "registers");
  }
  const int64_t shared =
      ir::round_up(needs.shared_bytes + limits.reserved_bytes, limits.shared_unit);
  if (needs.shared_bytes > limits.block_shared_bytes) {
    limit(0, "shared memory");
  } else if (shared > 0) {
    limit(limits.shared_bytes / shared, "shared memory");
  }
  out.blocks = static_cast<int>(blocks);
  out.threads = static_cast<int>(blocks * warps) * ir::DeviceLimits::kWarp;
  out.share = static_cast<double>(out.threads) / limits.threads;
  return out;
}

}  // namespace hone::jit
