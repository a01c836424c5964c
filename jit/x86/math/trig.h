// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <iterator>

#include "jit/x86/math/coefficients.h"
#include "jit/x86/math/exact.h"
#include "jit/x86/math/inverse_two_pi.h"

namespace hone::jit {

/// pi as a sum of positive F values, so that -0 minus none of them stays -0. kFastLimit: up to
/// there subtracting multiples of them is enough.
template <class F>
struct PiParts;
template <>
struct PiParts<float> {
  static constexpr double kParts[3] = {0x1.921fb4p1, 0x1.4442dp-23, 0x1.846988p-47};
  static constexpr double kFastLimit = 0x1p17;
};
template <>
struct PiParts<double> {
  static constexpr double kParts[3] = {0x1.921fb54442d18p1, 0x1.1a62633145c06p-53,
                                       0x1.c1cd129024e08p-106};
  static constexpr double kFastLimit = 0x1p40;
};

/// (-1)^n * value for n in the low bit of `bits`.
template <class F, class B>
typename B::V alternate(B& b, typename B::V value, typename B::V bits) {
  return b.xor_(value, b.shl(bits, sizeof(F) * 8 - 1));
}

/// The angle in [-pi/2, pi/2] with the sine of x (kShift 0) or its cosine (kShift 1), for |x| up to
/// kFastLimit. It subtracts n pi, where n is the nearest integer, or integer and a half. The first
/// difference is exact, so only the error of pi's third part remains.
template <class F, int kShift, class B>
typename B::V reduce_angle(B& b, typename B::V x) {
  constexpr double kInversePi = 0x1.45f306dc9c883p-2;
  const auto magic = b.constant(kMagic<F>);
  typename B::V bits, n;
  if constexpr (kShift == 0) {
    bits = b.fma(x, b.constant(kInversePi), magic);
    n = b.sub(bits, magic);
  } else {
    const auto half = b.constant(0.5);
    bits = b.add(b.fms(x, b.constant(kInversePi), half), magic);
    n = b.add(b.sub(bits, magic), half);
    // cos((n + 1/2) pi + r) = -(-1)^n sin r.
    bits = b.iadd(bits, b.constant_bits(1));
  }
  auto r = b.fnma(n, b.constant(PiParts<F>::kParts[0]), x);
  r = b.fnma(n, b.constant(PiParts<F>::kParts[1]), r);
  r = b.fnma(n, b.constant(PiParts<F>::kParts[2]), r);
  return alternate<F>(b, r, bits);
}

/// x - round(x), exact.
template <class B>
typename B::V modulo_one(B& b, typename B::V x) {
  return b.sub(x, b.round(x));
}

/// A compensated sum: the rounding errors of `high` are summed in `middle`, and the errors there in
/// `low`.
template <class V>
struct CloseSum {
  V high;
  V middle;
  V low;
};

template <class B>
CloseSum<typename B::V> add_closely(B& b, CloseSum<typename B::V> sum, typename B::V term) {
  const auto first = exact_sum(b, sum.high, term);
  const auto second = exact_sum(b, sum.middle, first.low);
  return {first.high, second.high, b.add(sum.low, second.low)};
}

/// x / (2 pi) modulo 1 for any finite |x| >= 1, plus `shift`. It uses the bits of 1/(2 pi) that
/// matter for x's exponent. The low part is rounded.
template <class F, class B>
Pair<typename B::V> turns(B& b, typename B::V size, double shift) {
  using Table = InverseTwoPi<F>;
  constexpr int kIndexShift = Format<F>::kMantissa + (Table::kWidth == 8 ? 3 : 6);
  constexpr uint64_t kInBucket = (uint64_t{1} << kIndexShift) - 1;
  const auto one = b.constant(1);
  const auto above_one = b.isub(size, one);
  const auto index = b.shr(above_one, kIndexShift);
  const auto scaled = b.iadd(b.and_(above_one, b.constant_bits(kInBucket)), one);
  const auto product = [&](size_t k) {
    return exact_product(b, scaled, b.lookup16(Table::kRows[k], index));
  };
  // Integers may hide in the products of the first rows.
  auto p = product(0);
  auto top = exact_sum(b, modulo_one(b, p.high), modulo_one(b, p.low));
  p = product(1);
  const auto next = exact_sum(b, top.high, modulo_one(b, p.high));
  const auto below = exact_sum(b, top.low, next.low);
  CloseSum<typename B::V> sum = {next.high, below.high, below.low};
  sum = add_closely(b, sum, modulo_one(b, p.low));
  for (size_t k = 2; k < std::size(Table::kRows); ++k) {
    p = product(k);
    sum = add_closely(b, sum, k == 2 ? modulo_one(b, p.high) : p.high);
    sum = add_closely(b, sum, p.low);
  }
  if (shift != 0) sum = add_closely(b, sum, b.constant(shift));
  top = exact_sum(b, sum.high, sum.middle);
  return {top.high, b.add(top.low, sum.low)};
}

/// As reduce_angle, for any |x| >= 1. Infinite and NaN x give NaN.
template <class F, int kShift, class B>
typename B::V reduce_large_angle(B& b, typename B::V x) {
  const auto turn = turns<F>(b, magnitude<F>(b, x), kShift * 0.25);
  const auto halves = b.add(turn.high, turn.high);
  const auto magic = b.constant(kMagic<F>);
  const auto bits = b.add(halves, magic);
  const auto part = b.sub(halves, b.sub(bits, magic));
  const auto pi = b.constant(PiParts<F>::kParts[0]);
  const auto rest = b.mul(b.add(turn.low, turn.low), pi);
  const auto low = b.fma(part, b.constant(PiParts<F>::kParts[1]), rest);
  auto r = alternate<F>(b, b.fma(part, pi, low), bits);
  if (kShift == 0) r = b.xor_(r, b.and_(x, b.constant_bits(Format<F>::kSign)));
  // x - x is NaN for infinite x and 0 otherwise.
  return b.add(r, b.sub(x, x));
}

/// sin r for r in [-pi/2, pi/2].
template <class F, class B>
typename B::V sine_near(B& b, typename B::V r) {
  const auto square = b.mul(r, r);
  const auto q = polynomial(b, Coefficients<F>::kSin, square);
  return b.fma(r, b.mul(square, q), r);
}

/// sin x (kShift 0) or cos x (kShift 1).
template <class F, int kShift, class B>
typename B::V sine(B& b, typename B::V x) {
  const auto large = b.gt(magnitude<F>(b, x), b.constant(PiParts<F>::kFastLimit));
  const auto r = b.slow_path(large, reduce_angle<F, kShift>(b, x),
                             [&] { return reduce_large_angle<F, kShift>(b, x); });
  const auto result = sine_near<F>(b, r);
  // Only a zero can have lost its sign.
  return kShift == 0 ? b.copysign(result, r) : result;
}

/// sin x; 2 ulp (f64: 4) for every x.
template <class F, class B>
typename B::V math_sin(B& b, typename B::V x) {
  return sine<F, 0>(b, x);
}

/// cos x; 2 ulp (f64: 4) for every x.
template <class F, class B>
typename B::V math_cos(B& b, typename B::V x) {
  return sine<F, 1>(b, x);
}

}  // namespace hone::jit
