// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "jit/ir/nest.h"

namespace hone::jit {

/// Instructions that a warp issues for an operation of a value on registers, by estimate: as many
/// as compilers make of it, without those of its operands.
double instructions_of(const ir::Expr& operation);

/// Those that turn an element of memory into what is computed with.
double load_instructions(DType type);

/// Those that turn what a store computed into an element, and that combine the two where it adds
/// up.
double store_instructions(const ir::StoreStmt& store, DType type);

}  // namespace hone::jit
