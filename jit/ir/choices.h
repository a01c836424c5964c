// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <vector>

#include "jit/ir/expr.h"

namespace hone::ir {

/// True of an argument that is needed only where those before it say so: of `select`, `and`, `or`.
bool is_choice(const Expr& e, size_t arg);

/// The unguarded loads of a value that it makes whatever it chooses.
std::vector<Expr> loads_in_any_case(const Expr& e);

}  // namespace hone::ir
