// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "jit/ir/expr.h"

namespace hone::ir {

/// Nodes of `e` written out: those that are shared count as often as they stand in it.
uint64_t tree_size(const Expr& e);
/// The same, but never more than `most`, and quick where that is small.
int tree_size_up_to(const Expr& e, int most);

}  // namespace hone::ir
