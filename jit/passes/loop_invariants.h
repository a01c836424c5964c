// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "jit/ir/nest.h"

namespace hone::jit {

/// Computes dear scalars once in front of the loops that would compute the same at each iteration
/// (loop-invariant code motion), and keeps them in registers.
///   for i { vec j: Y[i,j] = exp(m[i]/2.0)*X[i,j] }
///   =>  for i { t[0] = exp(m[i]/2.0); vec j: Y[i,j] = t[0]*X[i,j] }
/// What the range of a launch does not change is computed before it (Launch::before).
/// No value leaves a branch, and none reads what the loops write. Where it reads at all, the loops
/// are proved to run. Products that are terms of a sum stay, since they are added unrounded.
/// Nothing where the nest has no such values.
std::optional<ir::Nest> with_invariants_outside(const ir::Nest& nest);

}  // namespace hone::jit
