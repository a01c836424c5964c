// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "jit/ir/nest.h"

namespace hone::jit {

/// Computes integers of loops and dims in 32 bits where they differ between the lanes of a vector
/// loop. A vector then has twice as many lanes. Each value in between is proved to fit.
///   vec j: Y[j] = X[j] * f32(min(j, n))  =>  vec j: Y[j] = X[j] * f32(min(i32(j), i32(n))).
/// Offsets stay, and comparisons that ask no more than the number of the lane. Nothing where the
/// nest has no such integers.
std::optional<ir::Nest> with_narrow_integers(const ir::Nest& nest);

}  // namespace hone::jit
