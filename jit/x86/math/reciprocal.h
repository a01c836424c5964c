// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "jit/x86/math/exact.h"

namespace hone::jit {

/// Divisors beyond `small` and `large` are scaled, by powers of 2 that leave reciprocals normal.
/// Fixed by: the exponents of the type.
template <class F>
struct DivisorRange {
  static constexpr bool kSingle = sizeof(F) == 4;
  static constexpr double kSmall = kSingle ? 0x1p-100 : 0x1p-900;
  static constexpr double kLarge = kSingle ? 0x1p100 : 0x1p900;
  static constexpr double kUp = kSingle ? 0x1p64 : 0x1p512;
  static constexpr double kBelowOne = 1 - (kSingle ? 0x1p-24 : 0x1p-53);  // the next value
  static constexpr double kShare = kSingle ? 0x1p-30 : 0x1p-60;           // below all digits
};

/// The power of 2 by which a divisor is to be multiplied, and the dividend as well: mostly 1.
template <class F, class B>
typename B::V reciprocal_scale(B& b, typename B::V s) {
  using Range = DivisorRange<F>;
  const auto size = magnitude<F>(b, s);
  const auto up =
      b.select(b.lt(size, b.constant(Range::kSmall)), b.constant(Range::kUp), b.constant(1));
  return b.select(b.gt(size, b.constant(Range::kLarge)), b.constant(1 / Range::kUp), up);
}

/// 1/s, s scaled, rounded towards 0; of 0 and infinity what a division has.
template <class F, class B>
typename B::V reciprocal_high(B& b, typename B::V s) {
  const auto scaled = b.mul(s, reciprocal_scale<F>(b, s));
  const auto one = b.constant(1);
  const auto nearest = b.div(one, scaled);
  const auto above = b.lt(b.fnma(nearest, scaled, one), b.constant(0));
  return b.select(above, b.mul(nearest, b.constant(DivisorRange<F>::kBelowOne)), nearest);
}

/// 1/s - high, of the sign of s and never 0, so that an infinity times the sum stays one. Where
/// `high` is 0 or infinite nothing is missing, and it comes out again.
template <class F, class B>
typename B::V reciprocal_low(B& b, typename B::V s, typename B::V high) {
  const auto scaled = b.mul(s, reciprocal_scale<F>(b, s));
  const auto one = b.constant(1);
  const auto missing = b.fnma(high, scaled, one);
  // Of a power of 2 nothing is missing, and a share so small changes no product.
  const auto some =
      b.select(b.eq(missing, b.constant(0)), b.constant(DivisorRange<F>::kShare), missing);
  return b.mul(b.select(b.unord(missing, missing), one, some), high);
}

}  // namespace hone::jit
