// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>

#include "jit/ir/expr.h"

namespace hone::ir {

/// Floor division and its remainder as the IR defines them: x/0 and x%0 are 0, MIN/-1 is MIN.
int64_t floor_div_of(int64_t a, int64_t b);
int64_t floor_mod_of(int64_t a, int64_t b);

/// The next multiple of `unit` from `n` on, neither of them negative.
inline int64_t round_up(int64_t n, int64_t unit) { return (n + unit - 1) / unit * unit; }

/// True of an absolute value.
bool is_abs(const Expr& e);

/// n where `e` is the constant 2^n; nothing of anything else.
std::optional<int> exponent_of(const Expr& e);

/// True of `&`, `|`, `^`, `<<` and `>>`, which integers alone have.
constexpr bool is_bitwise(Op op) { return op >= Op::kBitAnd && op <= Op::kShr; }

/// What a bitwise node makes of integers of `type`; `<<` is not wrapped to the type yet.
int64_t bits_of(Op op, DType type, int64_t a, int64_t b);

/// Integers from lo to hi.
struct IntegerRange {
  int64_t lo, hi;
  bool lies_in(const IntegerRange& other) const { return other.lo <= lo && hi <= other.hi; }
};
/// The values of a type of integers, or of bool; nothing of other types.
std::optional<IntegerRange> range_of(DType type);
/// What a value of at most 32 bits may be before it wraps, as far as types and constants say.
std::optional<IntegerRange> range_before_wrap(const Expr& e);
/// An integer, and where it lies.
struct RangedInteger {
  Expr e;
  IntegerRange range;
};
/// `e` without casts that keep all of its values; none where it has more than 32 bits even so.
std::optional<RangedInteger> narrowest(const Expr& e);
/// Where the result of a bitwise node lies, its operands in these ranges, where they are known.
std::optional<IntegerRange> range_of_bits(Op op, const std::optional<IntegerRange>& a,
                                          const std::optional<IntegerRange>& b);

/// Differences of two numbers within it do not wrap around, nor do sums of several.
/// Fixed by: 64 bits.
inline constexpr int64_t kNear = int64_t{1} << 60;
/// True where `e` stays within kNear, going by its form. Loops and dims are small, and so are their
/// products; data of 64 bits, and products with large constants, may be anything.
bool stays_near(const Expr& e);

/// `e`, a choice among integers of `type` and constants that it holds, computed in `type`: they are
/// widened only to be chosen from. Null where it is no such choice.
Expr in_type(const Expr& e, DType type);

/// The lowest bytes of an integer, as an integer of `type`. What of 64 bits only leads to these is
/// computed in 32.
Expr low_bytes(const Expr& e, DType type);

/// What a node with two operands makes of 64-bit integers and bools; sums and products wrap around.
/// `op` is arithmetic, bitwise, a comparison, `and` or `or`.
int64_t combined(Op op, int64_t a, int64_t b);

}  // namespace hone::ir
