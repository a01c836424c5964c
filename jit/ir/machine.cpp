// SPDX-License-Identifier: Apache-2.0
#include "jit/ir/machine.h"

#include <algorithm>

#include "jit/ir/device_limits.h"

namespace hone::ir {
namespace {

/// Last caches larger than this are shared by a server's cores, which are far from them.
/// Fixed by: Intel's processors for desktops, which have 36 MB at most.
constexpr int64_t kMostNearby = 36 << 20;

/// What a core of such a server moves a cycle, from its last cache and from memory alike.
/// Tuned on: an Intel server with AMX and 480 MB of L3, two cores of many.
constexpr double kServerBytes = 4;
/// Of such a cache, what one core finds there again: others have the rest. On one server copies of
/// 96 MB in all take 1.5 times as long through it as past it. On another those of 64 MB take twice
/// as long, those of 32 MB 1.2 times.
/// Tuned on: Intel servers of 480 and 260 MB.
constexpr int64_t kServerShare = int64_t{32} << 20;

}  // namespace

Machine machine_of(const Target& target) {
  Machine m;
  m.threads = target.threads;
  m.vector_bytes = target.vector_bytes();
  m.vector_registers = target.vector_registers();
  m.masks_lanes = target.vector_bytes() == 64;
  m.l1d = target.l1d;
  m.l2 = target.l2;
  m.l3 = target.l3;
  m.streams_to_l1 = target.cpu.starts_with("amd");
  if (target.cpu.starts_with("intel") && target.l3 > kMostNearby) {
    m.l3_bytes = m.memory_bytes = kServerBytes;
    m.l3 = std::min(m.l3, kServerShare);
  }
  if (!target.is_cuda()) return m;
  m.multiprocessors = ir::multiprocessors(target);
  m.block_shared_bytes = device_limits(target.sm).block_shared_bytes;
  return m;
}

}  // namespace hone::ir
