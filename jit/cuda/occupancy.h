// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>

#include "jit/ir/device_limits.h"

namespace hone::jit {

/// What a block of a kernel takes of a multiprocessor.
struct BlockNeeds {
  int threads = 1;
  int registers = 0;         ///< of a thread; 0: not known, and taken not to limit
  int64_t shared_bytes = 0;  ///< static and dynamic
};

/// How many blocks run on a multiprocessor at a time, and what keeps it from more.
struct Occupancy {
  int blocks = 0;          ///< 0: not one fits
  int threads = 0;         ///< resident
  double share = 0;        ///< of the threads that could be resident
  std::string_view limit;  ///< threads, blocks, registers or shared memory
};

Occupancy occupancy(const BlockNeeds& needs, const ir::DeviceLimits& limits);

}  // namespace hone::jit
