// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "jit/ir/expr.h"
#include "jit/ir/functions/function.h"

namespace hone::ir {

/// Arithmetic and functions, which count as operations; comparisons, casts and choices do not.
bool is_arithmetic(Op op);
bool is_comparison(Op op);

/// Instructions of a call on a vector of its type; half precision is computed in f32.
VectorLength vector_length(const Expr& call);

/// Arithmetic instructions of one evaluation of `e` on a vector of a CPU, loads and stores apart.
double operations_of(const Expr& e);

}  // namespace hone::ir
