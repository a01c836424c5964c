// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "jit/ir/program.h"

namespace hone::runtime {

/// What a tensor made at bind holds and where: `f32[768,3072] as [1/96][0][1%96] of W[d0,d1]` and
/// the ranges of d0 and d1, the numbers being dims. Kernels for which it is the same text can share
/// the memory.
std::string packing_text(const ir::Program& scheduled, const std::string& buffer);

}  // namespace hone::runtime
