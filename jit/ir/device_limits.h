// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>

#include "jit/ir/target.h"

namespace hone::ir {

/// Limits of GPUs of one compute capability. They decide how much a block may take and how many
/// blocks run on a multiprocessor at a time.
struct DeviceLimits {
  int sm = 0;                      ///< compute capability, ten times
  int threads = 2048;              ///< resident threads of a multiprocessor
  int blocks = 32;                 ///< resident blocks of a multiprocessor
  int registers = 65536;           ///< 32-bit registers of a multiprocessor
  int register_unit = 256;         ///< registers are given to a warp in multiples of this
  int shared_unit = 128;           ///< shared memory is given to a block in multiples of this
  int64_t shared_bytes = 0;        ///< shared memory of a multiprocessor
  int64_t block_shared_bytes = 0;  ///< of one block, static and dynamic together
  int64_t reserved_bytes = 0;      ///< that the driver keeps of every block's shared memory
  int multiprocessors = 0;         ///< of a large GPU
  /// Fixed by: CUDA.
  static constexpr int kWarp = 32;                    ///< threads of a warp
  static constexpr int kBlockThreads = 1024;          ///< threads of a block
  static constexpr int kThreadRegisters = 255;        ///< registers of a thread
  static constexpr int64_t kStaticShared = 48 << 10;  ///< shared memory known when compiling
};

/// The limits of compute capability `sm`; of one that has no row, those of the nearest row below.
const DeviceLimits& device_limits(int sm);

/// Multiprocessors of the target's GPU; where the target does not say, those of a large one of its
/// capability.
int multiprocessors(const Target& target);

/// All rows, by ascending capability.
std::span<const DeviceLimits> all_device_limits();

}  // namespace hone::ir
