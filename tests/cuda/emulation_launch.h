// SPDX-License-Identifier: Apache-2.0
// Runs kernels over grids: the threads of a cluster's blocks in turn, each until it waits.
#pragma once

#include "tests/cuda/emulation_block.h"

namespace emulation {

/// Calls a kernel on its one parameter.
template <class Args>
void call(void (*kernel)(Args), const void* args) {
  kernel(*static_cast<const Args*>(args));
}

/// Runs a kernel over a grid of blocks, `shape` of which make a cluster, with `dynamic_bytes` of
/// shared memory each that the launch asks for; what went wrong, or "".
std::string launch(Dim3 grid, Dim3 extent, int64_t dynamic_bytes, Kernel kernel,
                   const void* parameters, Dim3 shape = {1, 1, 1});

/// Called when the blocks of a cluster have run.
inline void (*blocks_ran)() = nullptr;

}  // namespace emulation
