// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "jit/ir/program.h"

namespace hone::ir {

/// The factors of a product, from left to right; `e` alone where it is none.
std::vector<Expr> product_factors(const Expr& e);

/// The product of factors, from left to right; there is one at least.
Expr product_of(const std::vector<Expr>& factors);

/// True of a sum of products that have the type in which it accumulates. Some of the factors may be
/// multiplied, and summed, before the others.
bool sums_products(const Stage& stage);

/// True of a sum of products of floats whose factors may be taken in another order. There are three
/// of them, or one does not differ along an index that is summed. Roundings differ, and infinities
/// cancel elsewhere.
bool reassociates(const Program& program, const Stage& stage);

}  // namespace hone::ir
