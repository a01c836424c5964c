// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "jit/ir/instructions.h"
#include "jit/ir/program.h"
#include "jit/ir/target.h"

namespace hone::runtime {

/// The work of a problem, whatever its schedule.
struct Work {
  double operations = 0;     ///< useful scalar operations: arithmetic and functions, one each
  double slots = 0;          ///< instructions of an arithmetic port: a multiply-add is one, scalar
                             ///< functions count at their length
  double adds = 0;           ///< of those, additions and the like without a product
  double bytes_read = 0;     ///< each element that is needed, once
  double bytes_written = 0;  ///< each output element, once
  double footprint = 0;      ///< bytes of memory that is read or written
  bool doubles = false;      ///< some arithmetic is in f64
  /// Products that a dot product instruction takes, additions included: not among `slots`.
  struct Dots {
    const ir::Instruction* row = nullptr;
    double products = 0;
  };
  std::vector<Dots> dots;
  double bytes() const { return bytes_read + bytes_written; }
};

/// The work of a naive program; `dims` are the values of those known at the call. A range that
/// comes from data counts as if the ranges together covered the tensor they index once. `target`
/// says which instructions there are.
Work work_of(const ir::Program& program, std::span<const int64_t> dims, const ir::Target& target);

}  // namespace hone::runtime
