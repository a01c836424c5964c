// SPDX-License-Identifier: Apache-2.0
// Threads that meet in other groups than their block: warps, parts of a block, clusters of blocks.
#pragma once

#include <cstring>

#include "tests/cuda/emulation_block.h"

namespace emulation {

void warp_barrier();

/// One lane of the warp, all of whose lanes ask.
bool elect_one();

/// Stores four matrices of 8 rows of 8 halves that a warp holds; PTX ISA, stmatrix.
struct MatrixPart {
  uint32_t address;
  uint16_t halves[4][2];
};
void store_matrices(MatrixPart& part, bool transposed);
template <class P>
void store_matrices(uint32_t address, P words, bool transposed) {
  MatrixPart part{address, {}};
  for (int i = 0; i < 4; ++i) {
    const uint32_t word = (*words.buffer)[words.index + i];
    std::memcpy(part.halves[i], &word, 4);
  }
  store_matrices(part, transposed);
}

/// At barrier `id` of the block, which is for so many threads.
void barrier_arrive(uint32_t id, uint32_t threads);
void barrier_sync(uint32_t id, uint32_t threads);

void cluster_arrive(bool releases);
void cluster_wait();

uint32_t load_cluster(uint32_t address);
void store_cluster(uint32_t address, uint32_t value);

/// Registers that a warp gives back to its block or takes from it.
void change_registers(uint32_t count, bool more);

}  // namespace emulation
