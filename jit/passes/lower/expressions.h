// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "jit/ir/expr.h"

namespace hone::jit {

/// True when loops or data decide `e`, not only dims and scalars.
bool has_var_or_load(const ir::Expr& e);

}  // namespace hone::jit
