// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "jit/ir/expr.h"

namespace hone::ir {

/// Floor division and its remainder as the IR defines them: x/0 and x%0 are 0, MIN/-1 is MIN.
int64_t floor_div_of(int64_t a, int64_t b);
int64_t floor_mod_of(int64_t a, int64_t b);

/// The next multiple of `unit` from `n` on, neither of them negative.
inline int64_t round_up(int64_t n, int64_t unit) { return (n + unit - 1) / unit * unit; }

/// What a node with two operands makes of integers and bools; sums and products wrap around. `op`
/// is arithmetic, a comparison, `and` or `or`.
int64_t combined(Op op, int64_t a, int64_t b);

}  // namespace hone::ir
