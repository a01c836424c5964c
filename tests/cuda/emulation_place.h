// SPDX-License-Identifier: Apache-2.0
// Places in the shared memory of the blocks of a cluster.
#pragma once

#include "tests/cuda/emulation_arena.h"

namespace emulation {

/// A place in the shared memory of a block. As a number: the byte, and above it 1 + the rank of the
/// block in its cluster, or 0 for the thread's own.
struct SharedPlace {
  Block* owner;
  uint32_t at;
  std::string name() const;
  uint64_t key() const { return static_cast<uint64_t>(owner->rank) << 32 | at; }
};

SharedPlace locate(uint32_t address);

void check_multiple(uint64_t value, uint64_t of, const std::string& what);

}  // namespace emulation
