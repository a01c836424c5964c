// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "jit/halide/types.h"
#include "jit/ir/expr.h"

namespace hone::jit::halide {

/// A function of the language on values of one type. Of fast floats those that Halide would call
/// the C library for, one value at a time, are put together from what it has in vectors.
Halide::Expr call(const ir::Function& function, DType type, const std::vector<Halide::Expr>& args,
                  Floats floats);

}  // namespace hone::jit::halide
