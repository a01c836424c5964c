// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "jit/ir/expr.h"

namespace hone::jit {

/// A product whose addition is a multiply-add.
bool is_product(const ir::Expr& e);

/// A number that an integer's absolute value never exceeds, from the types and constants that it
/// is made of.
int64_t magnitude_of(const ir::Expr& e);

/// A product of integers from 0 to below 2^32, whose 64 bits one instruction makes.
bool is_product_of_words(const ir::Expr& e);

/// A float that is a number for sure: a constant, or made of an integer.
bool never_nan(const ir::Expr& e);

/// A remainder of an i32 by 2, 4 .. `most`.
bool is_low_bits(const ir::Expr& e, int64_t most);

/// The constant zero.
bool is_zero(const ir::Expr& e);

}  // namespace hone::jit
