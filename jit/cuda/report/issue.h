// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "jit/ir/nest.h"

namespace hone::jit {

/// Estimated instructions that a warp issues for an operation of a value on registers, without
/// those of its operands. They are counted as compilers generate them.
double instructions_of(const ir::Expr& operation);

/// Those that turn an element of memory into what is computed with.
double load_instructions(DType type);

/// Those that turn what a store computed into an element, and that combine the two where it adds
/// up.
double store_instructions(const ir::Stmt& store, DType type);

}  // namespace hone::jit
