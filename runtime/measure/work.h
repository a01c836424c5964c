// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>

#include "jit/ir/program.h"

namespace hone::runtime {

/// What a problem asks of a machine, whatever its schedule.
struct Work {
  double operations = 0;     ///< useful scalar operations: arithmetic and functions, one each
  double slots = 0;          ///< instructions of an arithmetic port: a multiply-add is one, scalar
                             ///< functions count at their length
  double bytes_read = 0;     ///< each element that is needed, once
  double bytes_written = 0;  ///< each output element, once
  bool doubles = false;      ///< some arithmetic is in f64
  double bytes() const { return bytes_read + bytes_written; }
};

/// The work of a naive program; `dims` are the values of those known at the call. A range that
/// comes from data counts as if the ranges together covered the tensor they index once.
Work work_of(const ir::Program& program, std::span<const int64_t> dims);

}  // namespace hone::runtime
