// SPDX-License-Identifier: Apache-2.0
#include "jit/cuda/another_block.h"

#include <fmt/format.h>

#include "jit/cuda/occupancy.h"
#include "jit/cuda/resources.h"
#include "jit/ir/device_limits.h"

namespace hone::jit {
namespace {

/// Registers of a thread that the compiler finds room for elsewhere.
/// Chosen: so few that none is spilled, as a rule (not measured).
constexpr int kFew = 8;
/// Threads of a multiprocessor from which on more of them hide no more.
/// Chosen: half of all (not measured).
constexpr int kEnough = 1024;

/// Blocks that fit with a few registers less, where that is one more; else 0.
int blocks_with_fewer(BlockNeeds needs, const ir::DeviceLimits& limits) {
  const Occupancy now = occupancy(needs, limits);
  if (now.blocks == 0 || now.threads >= kEnough) return 0;
  needs.registers -= kFew;
  return occupancy(needs, limits).blocks > now.blocks ? now.blocks + 1 : 0;
}

int64_t spilled(std::string_view log) {
  int64_t bytes = 0;
  for (const KernelResources& k : resources_in(log)) bytes += k.spill_bytes;
  return bytes;
}

}  // namespace

std::optional<CudaSource> with_another_block(const CudaSource& source, std::string_view log,
                                             int sm) {
  const std::vector<KernelResources> all = resources_in(log);
  std::optional<CudaSource> out;
  for (const CudaLaunch& launch : source.launches) {
    const KernelResources* k = resources_of(all, launch.symbol);
    if (!k || k->registers <= kFew || k->spill_bytes > 0) continue;
    BlockNeeds needs;
    needs.threads = launch.block[0] * launch.block[1] * launch.block[2];
    needs.registers = k->registers;
    needs.shared_bytes = k->shared_bytes + launch.dynamic_bytes;
    const int blocks = blocks_with_fewer(needs, ir::device_limits(sm));
    const std::string plain = fmt::format("HONE_KERNEL({}) {}(", needs.threads, launch.symbol);
    const size_t at = source.kernels.find(plain);
    if (blocks == 0 || at == std::string::npos) continue;
    if (!out) out = source;
    out->kernels.replace(
        out->kernels.find(plain), plain.size(),
        fmt::format("HONE_KERNEL_BLOCKS({}, {}) {}(", needs.threads, blocks, launch.symbol));
  }
  return out;
}

bool spills_no_more(std::string_view before, std::string_view after) {
  return spilled(after) <= spilled(before);
}

}  // namespace hone::jit
