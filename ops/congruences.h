// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "jit/ir/program.h"

namespace hone::ops {

/// Solves congruences that choose terms of a reduction for one of its indices. Terms that a false
/// condition makes the reduction's identity are gone then, and their factors read every n-th place.
/// The order of those that stay is as before.
///
///   sum[k in 0..6](select((u - k)%2 == 0, X[(u - k)/2] * F[k], 0))
///     => sum[k in 0..3](X[u/2 - k] * F[2*k + u%2])
void solve_congruences(ir::Program& program);

}  // namespace hone::ops
