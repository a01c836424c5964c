// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "jit/native/lir.h"

namespace hone::jit {

/// Turns loads whose result is used once, in the same straight line of code, into memory operands
/// of the user; with AVX-512, broadcasts as well.
void fold_loads(Lir& lir, bool broadcasts);

}  // namespace hone::jit
