// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "jit/ir/program.h"

namespace hone::ops {

/// Has reductions of all terms up to an index, or from it on, go on from their neighbours:
/// `Y[i] = sum[r in 0..i+1](X[r])` becomes `Y[i] = (Y[i-1] else 0) + X[i]`. Their terms do not
/// depend on the index otherwise. So a row takes as many steps as it has elements, not the square
/// of that. Where data tell how far a reduction goes, it reads the result there.
void accumulate_rows(ir::Program& program);

}  // namespace hone::ops
