// SPDX-License-Identifier: Apache-2.0
#include "tests/cuda/emulation_place.h"

#include "tests/cuda/emulation_async.h"
#include "tests/cuda/emulation_machine.h"

namespace emulation {

std::string SharedPlace::name() const { return place_of(owner->arena, at); }

SharedPlace locate(uint32_t address) {
  const uint32_t rank = address >> 24;
  if (rank > cluster->blocks.size()) {
    fail("block " + std::to_string(rank - 1) + " is not one of the " +
         std::to_string(cluster->blocks.size()) + " of the cluster");
  }
  Block* const owner = rank == 0 ? block : &cluster->blocks[rank - 1];
  if (owner != block && gone(*owner)) {
    fail("block " + std::to_string(rank - 1) +
         " of the cluster leaves while another uses its memory");
  }
  return {owner, address & 0xffffff};
}

uint32_t shared_of_rank(uint32_t address, uint32_t rank) {
  const uint32_t there = (address & 0xffffff) | (rank + 1) << 24;
  locate(there);
  return there;
}

void check_multiple(uint64_t value, uint64_t of, const std::string& what) {
  if (value % of == 0) return;
  fail(what + " is not at a multiple of " + std::to_string(of) + " bytes");
}

}  // namespace emulation
