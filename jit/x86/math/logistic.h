// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "jit/x86/math/exp.h"

namespace hone::jit {

/// 1 / (1 + e^-x); 2 ulp. Zero where exp is.
template <class F, class B>
typename B::V math_sigmoid(B& b, typename B::V x) {
  // Where nothing is kept s is anything.
  const auto keep = b.nlt(x, b.constant(ExpRange<F>::kLow));
  const auto negated = b.sub(b.constant(0), b.min(b.constant(sizeof(F) == 4 ? 30 : 60), x));
  const auto [p, bits] = expm1_parts<F>(b, negated, Format<F>::kBias);
  const auto s = power_of_two<F>(b, bits);
  const auto one = b.constant(1);
  return b.where(keep, b.div(one, b.add(s, b.fma(p, s, one))));
}

/// The hyperbolic tangent, by u = (e^2|x| - 1) / 2 as u / (1 + u); 2 ulp.
template <class F, class B>
typename B::V math_tanh(B& b, typename B::V x) {
  // Of |x|: for negative x the errors of both sides of the division would add up. One piece of ln 2
  // is enough: n is small wherever the result is not yet 1.
  constexpr double kLimit = sizeof(F) == 4 ? 9.02 : 19.1;
  const auto limited = b.min(b.constant(kLimit), magnitude<F>(b, x));
  const auto [bits, n] = round_product<F>(b, limited, 2 * kLog2E, Format<F>::kBias - 1);
  const auto half = b.fnma(n, b.constant(kLn2High<F> / 2), limited);
  const auto p = expm1_near<F>(b, b.add(half, half));
  const auto s = power_of_two<F>(b, bits);
  const auto u = b.fma(p, s, b.sub(s, b.constant(0.5)));
  const auto ratio = b.div(u, b.add(u, b.constant(1)));
  // For small u the rounding of 1 + u tells; u - u * ratio is the same number without it.
  const auto small = b.lt(u, b.constant(0.5));
  return b.copysign(b.select(small, b.fnma(u, ratio, u), ratio), x);
}

/// x / (1 + 2^w); minus infinity gives -0, its limit, if w is then large.
template <class F, class B>
typename B::V gate(B& b, typename B::V x, typename B::V w) {
  return b.div(x, b.add(b.constant(1), exp2_saturating<F>(b, w)));
}

/// A lower limit on x past which gated functions have long vanished, so that -inf is finite.
template <class B>
typename B::V above_vanished(B& b, typename B::V x) {
  return b.max(b.constant(-65536), x);
}

/// x * sigmoid(x); 4 ulp or 2^-23|x| (f64: 2^-52|x|).
template <class F, class B>
typename B::V math_silu(B& b, typename B::V x) {
  x = above_vanished(b, x);
  return gate<F>(b, x, b.mul(x, b.constant(-kLog2E)));
}

/// x * sigmoid(2 sqrt(2/pi) (x + 0.044715 x^3)), which is gelu by tanh; tolerance of silu.
template <class F, class B>
typename B::V math_gelu_tanh(B& b, typename B::V x) {
  constexpr double kLinear = -0x1.26aec21bce759p1;  // -2 sqrt(2/pi) log2(e)
  x = above_vanished(b, x);
  const auto slope = b.fma(b.mul(x, x), b.constant(kLinear * 0.044715), b.constant(kLinear));
  return gate<F>(b, x, b.mul(x, slope));
}

/// log(1 + e^x); 4 ulp or 2^-23|x| (f64: 2^-52|x|).
template <class F, class B>
typename B::V math_softplus(B& b, typename B::V x) {
  const auto below = b.or_(x, b.constant_bits(Format<F>::kSign));
  const auto e = exp2_saturating<F>(b, b.mul(below, b.constant(kLog2E)));
  return b.fma(horner(b, Coefficients<F>::kLog1p, e), e, b.max(b.constant(0), x));
}

}  // namespace hone::jit
