// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "jit/ir/instructions.h"

namespace hone::runtime {

/// Arithmetic without loads or stores, on one thread, for tens of microseconds.
struct ArithmeticProbe {
  void (*run)() = nullptr;
  double operations = 0;  ///< that one run makes; a multiply-add is two
};

/// Multiply-adds alone in vectors of `width` bytes, 0: in scalars.
ArithmeticProbe multiply_adds(int width, bool doubles);

/// Multiply-adds with as many additions beside them, which count as two operations like those: on
/// some cores other ports take them.
ArithmeticProbe mixed_arithmetic(int width, bool doubles);

/// Products and their additions by a dot product instruction; multiply-adds where `row` is none.
ArithmeticProbe dot_products(int width, const ir::Instruction& row);

/// What a pass over memory does, by the share of its traffic that it writes.
enum class Traffic : uint8_t {
  kRead,    ///< 0
  kTriad,   ///< 1/3: two reads and a write
  kCopy,    ///< 1/2
  kFill,    ///< 1
  kUpdate,  ///< 1/2, each element written where it was read
};

/// One way to move memory: over `bytes` in all, which an update moves twice, a multiple of 3072,
/// from `memory`, aligned to 64.
struct MemoryProbe {
  Traffic traffic = Traffic::kRead;
  bool around = false;  ///< stores go around the caches
  void (*run)(char* memory, int64_t bytes) = nullptr;
};

/// All ways to move memory in vectors of `width` bytes, 0: without wide ones; ended by one whose
/// `run` is null.
const MemoryProbe* memory_probes(int width);

}  // namespace hone::runtime
