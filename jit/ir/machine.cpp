// SPDX-License-Identifier: Apache-2.0
#include "jit/ir/machine.h"

#include "jit/ir/device_limits.h"

namespace hone::ir {

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
  if (!target.is_cuda()) return m;
  m.multiprocessors = ir::multiprocessors(target);
  m.block_shared_bytes = device_limits(target.sm).block_shared_bytes;
  return m;
}

}  // namespace hone::ir
