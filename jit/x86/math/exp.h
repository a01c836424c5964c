// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <limits>

#include "jit/x86/math/builder.h"
#include "jit/x86/math/coefficients.h"

namespace hone::jit {

inline constexpr double kLog2E = 0x1.71547652b82fep0;
inline constexpr double kLn2 = 0x1.62e42fefa39efp-1;

/// The range of arguments beyond which a result in F is 0 or infinite: as a power of two, and in
/// natural logarithms. Results below twice the least normal number are made 0. A denormal takes
/// many processors over a hundred cycles, and so does each product with one.
template <class F>
struct ExpRange;
template <>
struct ExpRange<float> {
  static constexpr double kLow2 = -125, kHigh2 = 128.5, kLow = -86.9, kHigh = 89;
};
template <>
struct ExpRange<double> {
  static constexpr double kLow2 = -1021, kHigh2 = 1024.5, kLow = -708, kHigh = 710;
};

/// ln 2 as the nearest F and what that leaves.
template <class F>
constexpr double kLn2High = static_cast<double>(static_cast<F>(kLn2));
template <class F>
constexpr double kLn2Low = sizeof(F) == 4 ? kLn2 - kLn2High<F> : 0x1.abc9e3b39803fp-56;

/// 2^n for n + kBias in the low bits of `bits`; n within the normal exponents.
template <class F, class B>
typename B::V power_of_two(B& b, typename B::V bits) {
  return b.shl(bits, Format<F>::kMantissa);
}

/// p * 2^n where `keep`, else 0. There n is from kLow2 to kBias + 1; `bits` has n + kBias - 1 in
/// its low bits. Twice p is scaled, so that the largest exponent is one of a number.
template <class F, class B>
typename B::V scale_normal(B& b, typename B::M keep, typename B::V p, typename B::V bits) {
  return b.where(keep, b.mul(b.add(p, p), power_of_two<F>(b, bits)));
}

/// e^x; 2 ulp. Zero below, infinite above.
template <class F, class B>
typename B::V math_exp(B& b, typename B::V x) {
  // Where nothing is kept n and r are anything.
  const auto keep = b.nlt(x, b.constant(ExpRange<F>::kLow));
  const auto limited = b.min(b.constant(ExpRange<F>::kHigh), x);
  const auto [bits, n] = round_product<F>(b, limited, kLog2E, Format<F>::kBias - 1);
  auto r = b.fnma(n, b.constant(kLn2High<F>), limited);
  r = b.fnma(n, b.constant(kLn2Low<F>), r);
  const auto q = polynomial(b, Coefficients<F>::kExp, r);
  const auto p = b.fma(q, r, b.constant(1));
  return b.has_avx512() ? b.scalef_where(keep, p, n) : scale_normal<F>(b, keep, p, bits);
}

/// 2^f for f in [0, 1], by `c`.
template <class B>
typename B::V exp2_fraction(B& b, std::span<const double> c, typename B::V f) {
  return b.fma(polynomial(b, c, f), f, b.constant(1));
}

/// 2^x; 2 ulp. Zero below, infinite above.
template <class F, class B>
typename B::V math_exp2(B& b, typename B::V x) {
  constexpr std::span<const double> kFine = Coefficients<F>::kExp2Fine;
  const auto keep = b.nlt(x, b.constant(ExpRange<F>::kLow2));
  if (b.has_avx512()) return b.scalef_where(keep, exp2_fraction(b, kFine, b.fraction(x)), x);
  x = b.min(b.constant(ExpRange<F>::kHigh2), x);
  const auto n = b.floor(x);
  const auto bits = b.add(n, b.constant(kMagic<F> + Format<F>::kBias - 1));
  return scale_normal<F>(b, keep, exp2_fraction(b, kFine, b.sub(x, n)), bits);
}

/// 2^x where neither denormal results nor the largest exponent matter: they may become 0 below, and
/// infinite from 2^kBias up.
template <class F, class B>
typename B::V exp2_saturating(B& b, typename B::V x) {
  constexpr std::span<const double> kShort = Coefficients<F>::kExp2;
  if (b.has_avx512()) {
    const auto keep = b.nlt(x, b.constant(1 - Format<F>::kBias));
    return b.scalef_where(keep, exp2_fraction(b, kShort, b.fraction(x)), x);
  }
  // At the limits the power of two is made exactly zero, and infinite.
  x = clamp(b, x, -Format<F>::kBias, Format<F>::kBias + 1);
  const auto n = b.floor(x);
  const auto s = power_of_two<F>(b, b.add(n, b.constant(kMagic<F> + Format<F>::kBias)));
  return b.mul(exp2_fraction(b, kShort, b.sub(x, n)), s);
}

/// e^r - 1 for |r| <= ln(2)/2.
template <class F, class B>
typename B::V expm1_near(B& b, typename B::V r) {
  return b.fma(b.mul(r, r), polynomial(b, Coefficients<F>::kExpm1, r), r);
}

/// e^x - 1 in two parts by n = round(x / ln 2): with s = 2^n it is s*p + (s - 1).
template <class V>
struct Expm1Parts {
  V p;     ///< e^r - 1
  V bits;  ///< n + bias in the low bits
};

/// The parts for x in (-2^20, 2^20), ln 2 subtracted in two pieces.
template <class F, class B>
Expm1Parts<typename B::V> expm1_parts(B& b, typename B::V x, double bias) {
  const auto [bits, n] = round_product<F>(b, x, kLog2E, bias);
  auto r = b.fnma(n, b.constant(kLn2High<F>), x);
  r = b.fnma(n, b.constant(kLn2Low<F>), r);
  return {expm1_near<F>(b, r), bits};
}

/// e^x - 1; 2 ulp.
template <class F, class B>
typename B::V math_expm1(B& b, typename B::V x) {
  // Below the lower limit the result is -1; half of the result is made so that its exponent fits.
  const auto limited = clamp(b, x, sizeof(F) == 4 ? -30 : -60, ExpRange<F>::kHigh);
  const auto [p, bits] = expm1_parts<F>(b, limited, Format<F>::kBias - 1);
  const auto s = power_of_two<F>(b, bits);
  const auto half = b.fma(p, s, b.sub(s, b.constant(0.5)));
  return b.copysign(b.add(half, half), x);
}

}  // namespace hone::jit
