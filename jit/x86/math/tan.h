// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "jit/x86/math/trig.h"

namespace hone::jit {

/// An angle within pi/4 of n quarters of a turn; the lowest bit of `bits` is n's.
template <class V>
struct QuarterAngle {
  V high, low;
  V bits;
};

/// x - n pi/2 for |x| up to kFastLimit.
template <class F, class B>
QuarterAngle<typename B::V> quarter_angle(B& b, typename B::V x) {
  constexpr double kInverse = 0x1.45f306dc9c883p-1;  // 2 / pi
  const auto [bits, n] = round_product<F>(b, x, kInverse, 0);
  const auto part = [&](int i) { return b.constant(-PiParts<F>::kParts[i] / 2); };
  const auto rest = b.fma(n, part(0), x);  // exact
  const auto second = exact_product(b, n, part(1));
  const auto sum = exact_sum(b, rest, second.high);
  return {sum.high, b.fma(n, part(2), b.add(sum.low, second.low)), bits};
}

/// The same for any |x| >= 1. Infinite and NaN x give NaN.
template <class F, class B>
QuarterAngle<typename B::V> large_quarter_angle(B& b, typename B::V x) {
  const auto turn = turns<F>(b, magnitude<F>(b, x), 0);
  const auto four = b.constant(4), magic = b.constant(kMagic<F>);
  const auto quarters = b.mul(turn.high, four);
  const auto bits = b.add(quarters, magic);
  const auto part = b.sub(quarters, b.sub(bits, magic));
  const auto half_pi = b.constant(PiParts<F>::kParts[0] / 2);
  const auto high = b.mul(part, half_pi);
  auto low = b.fma(b.mul(turn.low, four), half_pi, b.fms(part, half_pi, high));
  low = b.fma(part, b.constant(PiParts<F>::kParts[1] / 2), low);
  // Of a multiple of quarters `low` is all that is left.
  const auto sum = exact_sum_ordered(b, high, low);
  const auto sign = b.and_(x, b.constant_bits(Format<F>::kSign));
  // x - x is NaN for infinite x and 0 otherwise.
  return {b.add(b.xor_(sum.high, sign), b.sub(x, x)), b.xor_(sum.low, sign), bits};
}

/// The tangent of the angle and of n quarters beyond it.
template <class F, class B>
typename B::V tangent_of(B& b, const QuarterAngle<typename B::V>& r) {
  const auto zero = b.constant(0), one = b.constant(1);
  const auto square = b.mul(r.high, r.high);
  const auto tail = polynomial(b, Coefficients<F>::kTan, square);
  // To first order `low` counts times the slope, 1 + tan^2.
  const auto lost = b.fma(r.low, square, r.low);
  const auto near = exact_sum_ordered(b, r.high, b.fma(b.mul(r.high, square), tail, lost));
  // -1 over the sum, mended by what the quotient leaves of 1.
  const auto inverse = b.div(b.constant(-1), near.high);
  const auto left = b.fma(inverse, near.low, b.fma(inverse, near.high, one));
  const auto beyond = b.fma(inverse, left, inverse);
  const auto odd_sign = b.shl(r.bits, sizeof(F) * 8 - 1);
  const auto odd = b.lt(b.or_(odd_sign, one), zero);
  // Only a zero can have lost its sign.
  return b.select(odd, beyond, b.copysign(near.high, r.high));
}

/// tan x; 2 ulp (f64: 4) for every x.
template <class F, class B>
typename B::V math_tan(B& b, typename B::V x) {
  const auto large = b.gt(magnitude<F>(b, x), b.constant(PiParts<F>::kFastLimit));
  return b.slow_path(large, tangent_of<F>(b, quarter_angle<F>(b, x)),
                     [&] { return tangent_of<F>(b, large_quarter_angle<F>(b, x)); });
}

}  // namespace hone::jit
