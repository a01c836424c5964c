// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "jit/halide/types.h"
#include "jit/ir/expr.h"

namespace hone::jit::halide {

/// A function of the language on values of one type. For some functions of fast floats Halide would
/// call the C library, one value at a time. Those are put together from its vector operations.
Halide::Expr call(const ir::Function& function, DType type, const std::vector<Halide::Expr>& args,
                  Floats floats);

}  // namespace hone::jit::halide
