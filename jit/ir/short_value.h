// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>

#include "jit/ir/expr.h"

namespace hone::ir {

/// `value`, an integer of at most 16 bits or a bool, computed in no more than these where lanes
/// differ. Null where 16 bits do not decide it. `varies`: whether an expression differs.
Expr short_value(const Expr& value, const std::function<bool(const Expr&)>& varies);

}  // namespace hone::ir
