// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <limits>

#include "jit/x86/math/builder.h"
#include "jit/x86/math/coefficients.h"

namespace hone::jit {

inline constexpr double kLog2E = 0x1.71547652b82fep0;
inline constexpr double kLn2 = 0x1.62e42fefa39efp-1;

/// The range of arguments beyond which a result in F is 0 or infinite, in powers of two, and the
/// same for natural logarithms.
template <class F>
struct ExpRange;
template <>
struct ExpRange<float> {
  static constexpr double kLow2 = -151, kHigh2 = 128.5, kLow = -104.5, kHigh = 89;
};
template <>
struct ExpRange<double> {
  static constexpr double kLow2 = -1076, kHigh2 = 1024.5, kLow = -745.5, kHigh = 710;
};

/// ln 2 as the nearest F and what that leaves.
template <class F>
constexpr double kLn2High = static_cast<double>(static_cast<F>(kLn2));
template <class F>
constexpr double kLn2Low = sizeof(F) == 4 ? kLn2 - kLn2High<F> : 0x1.abc9e3b39803fp-56;

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

/// 2^n for n + kBias in the low bits of `bits`; n within the normal exponents.
template <class F, class B>
typename B::V power_of_two(B& b, typename B::V bits) {
  return b.shl(bits, Format<F>::kMantissa);
}

/// e^x; 2 ulp. Gradual to zero below, infinite above.
template <class F, class B>
typename B::V math_exp(B& b, typename B::V x) {
  const bool wide = b.has_avx512();
  // vscalef saturates by itself; halves need n in range.
  if (!wide) x = clamp(b, x, ExpRange<F>::kLow, ExpRange<F>::kHigh);
  const auto [bits, n] = round_product<F>(b, x, kLog2E, wide ? 0 : 2 * Format<F>::kBias);
  auto r = b.fnma(n, b.constant(kLn2High<F>), x);
  r = b.fnma(n, b.constant(kLn2Low<F>), r);
  if (wide) {
    // Where x is infinite or out of range r is anything. Without the top bit of its exponent it is
    // below 2, the polynomial positive, and n decides.
    constexpr uint64_t kTop = Format<F>::kSign >> 1;
    r = b.and_(r, b.constant_bits((Format<F>::kSign | (Format<F>::kSign - 1)) & ~kTop));
  }
  const auto q = polynomial(b, Coefficients<F>::kExp, r);
  const auto p = b.fma(q, r, b.constant(1));
  return wide ? b.scalef(p, n) : scale_by_halves<F>(b, p, bits);
}

/// 2^f for f in [0, 1], by `c`.
template <class B>
typename B::V exp2_fraction(B& b, std::span<const double> c, typename B::V f) {
  return b.fma(polynomial(b, c, f), f, b.constant(1));
}

/// 2^x; 2 ulp.
template <class F, class B>
typename B::V math_exp2(B& b, typename B::V x) {
  constexpr std::span<const double> kFine = Coefficients<F>::kExp2Fine;
  if (b.has_avx512()) return b.scalef(exp2_fraction(b, kFine, b.fraction(x)), x);
  x = clamp(b, x, ExpRange<F>::kLow2, ExpRange<F>::kHigh2);
  const auto n = b.floor(x);
  const auto bits = b.add(n, b.constant(kMagic<F> + 2 * Format<F>::kBias));
  return scale_by_halves<F>(b, exp2_fraction(b, kFine, b.sub(x, n)), bits);
}

/// 2^x where neither denormal results nor the largest exponent matter: they may become 0 below, and
/// infinite from 2^kBias up.
template <class F, class B>
typename B::V exp2_saturating(B& b, typename B::V x) {
  constexpr std::span<const double> kShort = Coefficients<F>::kExp2;
  if (b.has_avx512()) return b.scalef(exp2_fraction(b, kShort, b.fraction(x)), x);
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
