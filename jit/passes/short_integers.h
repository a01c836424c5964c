// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "jit/ir/nest.h"

namespace hone::jit {

/// Computes 32-bit integers of vector loops in 16 bits where the results are bytes, 16-bit integers
/// or bools, and 16 bits decide them. A vector then has twice as many lanes. Bytes that are only
/// compared with, or chosen among, bytes stay bytes. Sums and products need
/// the low bits of their operands alone; what is compared or chosen by size is proved to fit.
///   vec j: Y[j] = i8(i32(A[j]) * i32(B[j]) + 3)  =>  vec j: Y[j] = i8(i16(A[j]) * i16(B[j]) + 3).
/// Nothing where the nest has no such integers.
std::optional<ir::Nest> with_short_integers(const ir::Nest& nest);

}  // namespace hone::jit
