// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "jit/x86/math/exact.h"
#include "jit/x86/math/log.h"

namespace hone::jit {

/// 2 / ln 2 and 1/3 in two parts each.
template <class F>
struct PowConstants;
template <>
struct PowConstants<float> {
  static constexpr double kScale = 0x1.715476p1, kScaleLow = 0x1.4ae0cp-25;
  static constexpr double kThird = 0x1.555556p-2, kThirdLow = -0x1.555556p-27;
};
template <>
struct PowConstants<double> {
  static constexpr double kScale = 0x1.71547652b82fep1, kScaleLow = 0x1.777d0ffda0d24p-55;
  static constexpr double kThird = 0x1.5555555555555p-2, kThirdLow = 0x1.5555555555555p-56;
};

/// (m - 1) / (m + 1) for m in [0.75, 1.5), to about twice the precision of F.
template <class B>
Pair<typename B::V> atanh_argument(B& b, typename B::V m) {
  const auto one = b.constant(1);
  const auto top = b.sub(m, one);
  const auto bottom = b.add(m, one);
  const auto bottom_low = b.sub(m, b.sub(bottom, one));
  const auto high = b.div(top, bottom);
  const auto left = b.fnma(high, bottom_low, b.fnma(high, bottom, top));
  return {high, b.div(left, bottom)};
}

/// log2 x in two parts, for positive normal or denormal x.
template <class F, class B>
Pair<typename B::V> log2_pair(B& b, typename B::V x) {
  using Parts = PowConstants<F>;
  const auto [m, e] = split_binary<F>(b, x);
  const auto s = atanh_argument(b, m);
  // q = z/3 + z^2 (1/5 + ...), z = s^2, so that atanh s = s + s q.
  const auto z = exact_product(b, s.high, s.high);
  const auto z_low = b.fma(b.add(s.high, s.high), s.low, z.low);
  const auto third = b.constant(Parts::kThird);
  const auto cubic = exact_product(b, z.high, third);
  auto rest = b.fma(z.high, b.constant(Parts::kThirdLow), b.fma(z_low, third, cubic.low));
  rest = b.fma(b.mul(z.high, z.high), polynomial(b, Coefficients<F>::kAtanh, z.high), rest);
  const auto q = exact_sum_ordered(b, cubic.high, rest);
  const auto sq = exact_product(b, s.high, q.high);
  const auto sq_low = b.fma(s.high, q.low, b.fma(s.low, q.high, sq.low));
  const auto atanh = exact_sum_ordered(b, s.high, sq.high);
  const auto atanh_low = b.add(atanh.low, b.add(s.low, sq_low));
  const auto scale = b.constant(Parts::kScale);
  const auto log = exact_product(b, atanh.high, scale);
  const auto log_low =
      b.fma(atanh.high, b.constant(Parts::kScaleLow), b.fma(atanh_low, scale, log.low));
  const auto sum = exact_sum_ordered(b, e, log.high);
  return {sum.high, b.add(sum.low, log_low)};
}

/// p * 2^n for n + 2*kBias in the low bits of `bits`, 0 <= n + 2*kBias < 2^(exponent bits + 1). Two
/// factors of half the exponent each, so that only the last product overflows or goes denormal.
template <class F, class B>
typename B::V scale_by_halves(B& b, typename B::V p, typename B::V bits) {
  constexpr int kShift = Format<F>::kMantissa;
  const auto half = b.shr(bits, 1);
  const auto first = b.shl(half, kShift);
  const auto second = b.shl(b.isub(bits, half), kShift);
  return b.mul(b.mul(p, first), second);
}

/// The arguments of 2^x beyond which its result is 0, or infinite, however it is rounded.
template <class F>
constexpr double kPowerLow = sizeof(F) == 4 ? -171 : -1096;
template <class F>
constexpr double kPowerHigh = sizeof(F) == 4 ? 148.5 : 1044.5;

/// 2^(x.high + x.low); infinities and NaN of the low part do no harm where the high part decides.
template <class F, class B>
typename B::V exp2_pair(B& b, Pair<typename B::V> x) {
  const auto high = clamp(b, x.high, kPowerLow<F>, kPowerHigh<F>);
  const auto [bits, n] = round_product<F>(b, high, 1, 2 * Format<F>::kBias);
  auto r = b.add(b.sub(high, n), x.low);
  // Without the top bit of its exponent it is below 2; it is anyway, unless the high part is far
  // out.
  r = b.and_(r, b.constant_bits(Format<F>::kSign | ((Format<F>::kSign >> 1) - 1)));
  const auto p = b.fma(polynomial(b, Coefficients<F>::kExp2m1, r), r, b.constant(1));
  return b.has_avx512() ? b.scalef(p, n) : scale_by_halves<F>(b, p, bits);
}

/// What pow is where x or y is 0, infinite or negative, around `power` = |x|^y.
template <class F, class B>
typename B::V mend_pow(B& b, typename B::V x, typename B::V y, typename B::V power) {
  const auto zero = b.constant(0);
  const auto one = b.constant(1);
  const auto inf = b.constant(std::numeric_limits<double>::infinity());
  const auto size = magnitude<F>(b, x);
  const auto down = b.lt(y, zero);
  power = b.select(b.eq(size, zero), b.select(down, inf, zero), power);
  power = b.select(b.eq(size, inf), b.select(down, zero, inf), power);
  // Below zero only integers will do, and the odd ones keep the sign.
  const auto whole = b.trunc(y);
  const auto half = b.mul(y, b.constant(0.5));
  const auto odd = b.both(b.eq(whole, y), b.neq(b.trunc(half), half));
  const auto sign = b.and_(x, b.constant_bits(Format<F>::kSign));
  power = b.or_(power, b.select(odd, sign, zero));
  const auto root = b.both(b.both(b.lt(x, zero), b.neq(size, inf)), b.neq(whole, y));
  const auto undefined = b.either(root, b.unord(x, y));
  power = b.select(undefined, b.constant(std::numeric_limits<double>::quiet_NaN()), power);
  return b.select(b.either(b.eq(y, zero), b.eq(x, one)), one, power);
}

/// x^y with the special cases of C's pow; 2 ulp (f64: 4), sampled.
template <class F, class B>
typename B::V math_pow(B& b, typename B::V x, typename B::V y) {
  // A y beyond the limits gives the same 0, 1 or infinity, and its product stays finite.
  constexpr double kFar = sizeof(F) == 4 ? 0x1p100 : 0x1p1000;
  const auto limited = clamp(b, y, -kFar, kFar);
  const auto log = log2_pair<F>(b, magnitude<F>(b, x));
  auto product = exact_product(b, limited, log.high);
  product.low = b.fma(limited, log.low, product.low);
  return mend_pow<F>(b, x, y, exp2_pair<F>(b, product));
}

}  // namespace hone::jit
