// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <Halide.h>

#include <string>

#include "include/hone/dtype.h"
#include "jit/ir/reject.h"

namespace hone::jit::halide {

/// Throws an ir::Reject, inside this back end only: Halide cannot say a program or a schedule.
[[noreturn]] void refuse(std::string why);

/// The type of values; bool is one bit.
Halide::Type value_type(DType type);
/// The type of elements in memory; bool is a byte.
Halide::Type stored_type(DType type);
/// A value as it is stored, and back.
Halide::Expr to_stored(const Halide::Expr& value, DType type);
Halide::Expr from_stored(const Halide::Expr& element, DType type);

/// `value` of `from` as `to`: integers wrap, floats become the nearest integer towards zero within
/// its limits, and NaN becomes 0.
Halide::Expr converted(const Halide::Expr& value, DType from, DType to);
/// An integer that compares as the float does, but -0 before 0. Halide's simplifier takes every
/// float for less than infinity.
Halide::Expr order_of(const Halide::Expr& value);
/// True for NaN, whatever Halide may assume of floats.
Halide::Expr is_nan_bits(const Halide::Expr& value);

/// What Halide may assume of floats: nothing, or that none is NaN or infinite.
enum class Floats : uint8_t { kStrict, kFast };
/// The greater or lesser of two; of strict floats NaN where one is.
Halide::Expr greater(const Halide::Expr& a, const Halide::Expr& b, Floats floats);
Halide::Expr lesser(const Halide::Expr& a, const Halide::Expr& b, Floats floats);

}  // namespace hone::jit::halide
