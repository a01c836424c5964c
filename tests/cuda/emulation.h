// SPDX-License-Identifier: Apache-2.0
// A GPU's thread block on the CPU: what generated kernels are compiled against to be run without a
// device. Included by them, not by the project. Threads are fibers; a barrier is a switch. What is
// the same for all kernels is in emulation_*.cpp, compiled once and linked with each of them.
#pragma once

#include <cstring>

#include "tests/cuda/emulation_arena.h"
#include "tests/cuda/emulation_async.h"
#include "tests/cuda/emulation_copies.h"
#include "tests/cuda/emulation_global.h"
#include "tests/cuda/emulation_launch.h"
#include "tests/cuda/emulation_numbers.h"
#include "tests/cuda/emulation_own.h"
#include "tests/cuda/emulation_tiles.h"
#include "tests/cuda/emulation_tma.h"
#include "tests/cuda/emulation_warps.h"
#include "tests/cuda/emulation_wgmma.h"

#define HONE_EMULATION 1
#define HONE_PARAMETER
#define HONE_DEVICE static inline
#define HONE_GLOBAL(T, name, slot, elements) \
  const emulation::Global<T> name = emulation::global<T>((T*)(slot), (elements), #name)
#define HONE_TEAM(T, name, elements) \
  static const char name##_key = 0;  \
  emulation::SharedArray<T> name = emulation::shared_array<T>(&name##_key, (elements), #name)
#define HONE_DYNAMIC(bytes)
#define HONE_TEAM_AT(T, name, elements, byte) \
  static const char name##_key = 0;           \
  emulation::SharedArray<T> name =            \
      emulation::shared_array_at<T>(&name##_key, (elements), #name, (byte))
#define HONE_OWN(T, name, elements) emulation::Own<T> name((elements), #name)
#define HONE_WARP(T, name, elements) emulation::Held<T> name((elements), #name)
#define HONE_KERNEL(threads) static void
#define HONE_KERNEL_ALONE(threads) static void
#define HONE_CLUSTER_KERNEL(threads, x, y, z) static void
#define HONE_CLUSTER_KERNEL_ALONE(threads, x, y, z) static void
#define HONE_ADDRESS(place) nullptr
#define HONE_AT(name, ...) emulation::at(name, __VA_ARGS__)
#define HONE_WARP_AT(name, element) emulation::at(name, element)

namespace emulation {

template <class T>
T shuffle(T v, int lane) {
  Fiber& f = self();
  f.posted = 0;
  std::memcpy(&f.posted, &v, sizeof v);
  f.lane = lane;
  wait(Wait::kShuffle);
  std::memcpy(&v, &f.received, sizeof v);
  return v;
}

template <class T>
T shuffle_xor(T v, int mask) {
  return shuffle(v, static_cast<int>(block->current % 32) ^ mask);
}

}  // namespace emulation

#define threadIdx emulation::thread_index()
#define blockIdx emulation::block->index
#define __syncthreads() emulation::block_barrier()
#define __shfl_sync(mask, v, lane) emulation::shuffle(v, lane)
#define __shfl_xor_sync(mask, v, m) emulation::shuffle_xor(v, m)
