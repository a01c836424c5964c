// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "jit/halide/types.h"
#include "jit/ir/expr.h"

namespace hone::jit::halide {

/// A function of the language on values of one type.
Halide::Expr call(const ir::Function& function, DType type, const std::vector<Halide::Expr>& args);

}  // namespace hone::jit::halide
