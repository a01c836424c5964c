// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "jit/ir/instructions.h"
#include "jit/ir/program.h"
#include "jit/ir/target.h"

namespace hone::runtime {

/// The work of a problem that no schedule can leave out. A value is computed once for each choice
/// of the indices that it depends on. Nor is it more often than the elements it is made of.
struct Work {
  /// Instructions of arithmetic ports, per element of f32 or f64. A multiply-add is one, functions
  /// count at their length. Integers count by the width of what they are made of.
  struct Slots {
    double all = 0;
    double adds = 0;  ///< of those, additions and the like without a product
  };
  double operations = 0;  ///< useful scalar operations: arithmetic and functions, one each
  Slots singles;          ///< of all types but f64
  Slots doubles;
  double bytes_read = 0;     ///< each element that is needed, once
  double bytes_written = 0;  ///< each output element, once
  double read_lines = 0;     ///< bytes of the cache lines that bytes_read lie in, at best
  double written_lines = 0;  ///< the same of bytes_written
  double memory_lines = 0;   ///< those of read_lines that no cache has when a call begins
  double footprint = 0;      ///< bytes of memory that is read or written, in whole lines
  bool updates = false;      ///< some of it is both
  /// Products that a dot product instruction takes, additions included: not among the slots.
  struct Dots {
    const ir::Instruction* row = nullptr;
    double products = 0;
  };
  std::vector<Dots> dots;
  double bytes() const { return bytes_read + bytes_written; }
  double lines() const { return read_lines + written_lines; }
};

/// The work of a call of a naive program; `dims` are the values of those known at the call. What
/// depends on constants alone is done at bind. A range that comes from data counts as if the ranges
/// together covered the tensor they index once. Elements that data choose are drawn evenly and anew
/// at each call. Of a tensor beyond the last-level cache most of them come from memory. `target`
/// says which instructions and caches there are.
Work work_of(const ir::Program& program, std::span<const int64_t> dims, const ir::Target& target);

}  // namespace hone::runtime
