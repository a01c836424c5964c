// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "jit/ir/expr.h"

namespace hone::ir {

/// Nodes of `e` written out: those that are shared count as often as they stand in it.
uint64_t tree_size(const Expr& e);

}  // namespace hone::ir
