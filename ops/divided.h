// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "jit/ir/program.h"

namespace hone::ops {

/// Takes a reduction's index apart where it is read divided, so that all reads are affine and rules
/// see how they lie in memory. The order of terms stays.
///
///   sum[k in 0..64](X[k] * W[k/2] * S[k/32])
///     => sum[k.0 in 0..2, k.1 in 0..16, k.2 in 0..2](
///            X[32*k.0 + 2*k.1 + k.2] * W[16*k.0 + k.1] * S[k.0])
void split_divided_indices(ir::Program& program);

}  // namespace hone::ops
