// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "jit/ir/nest.h"

namespace hone::jit {

/// Estimated instructions that a warp issues for an operation of a value on registers, without
/// those of its operands. They are counted as compilers generate them.
double instructions_of(const ir::Expr& operation);

/// Instructions that convert an element of memory to the type that computes.
double load_instructions(DType type);

/// Instructions that convert a computed value to the stored element's type, and combine the two
/// where the store adds up.
double store_instructions(const ir::StoreStmt& store, DType type);

}  // namespace hone::jit
