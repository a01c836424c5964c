// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "jit/ir/expr.h"

namespace hone::ir {

/// A minimum or maximum of 64-bit integers, as which abs(x) is max(x, -x); null for anything else.
Expr as_extreme(const Expr& e);

}  // namespace hone::ir
