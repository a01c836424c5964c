// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "jit/ir/expr.h"

namespace hone::ops {

/// The first of the four words that Philox4x32-10 makes of a key and a counter, as an i64 below
/// 2^32. The key is `seed`; the counter has `counter` in its two low words, and 0 above.
/// Source: Salmon and others, Parallel Random Numbers: As Easy as 1, 2, 3 (2011).
ir::Expr philox(const ir::Expr& seed, const ir::Expr& counter);

}  // namespace hone::ops
