// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "jit/ir/expr.h"

namespace hone::jit {

bool has_load(const ir::Expr& e);

/// A product whose addition is a multiply-add.
bool is_product(const ir::Expr& e);

/// An integer of -2^15 to 2^15: made of narrower types, or a constant.
bool fits_16_bits(const ir::Expr& e);

/// The constant zero.
bool is_zero(const ir::Expr& e);

}  // namespace hone::jit
