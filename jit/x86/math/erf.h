// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "jit/x86/math/logistic.h"

namespace hone::jit {

/// The error function; 2 ulp (f64: 4). One formula for all x: 1 - e^(a Q(a)), a = |x|, with e^w - 1
/// computed without cancellation.
template <class F, class B>
typename B::V math_erf(B& b, typename B::V x) {
  // At the limit the result rounds to 1.
  const auto a = b.min(b.constant(sizeof(F) == 4 ? 3.92 : 5.95), magnitude<F>(b, x));
  const auto small = b.mul(a, polynomial(b, Coefficients<F>::kErf, a));
  const auto w = b.fma(a, b.constant(Coefficients<F>::kErfLinear), small);
  // One piece of ln 2 is enough: the larger n, the less of e^w is left in the result.
  const auto [bits, n] = round_product<F>(b, w, kLog2E, Format<F>::kBias);
  const auto p = expm1_near<F>(b, b.fnma(n, b.constant(kLn2High<F>), w));
  const auto s = power_of_two<F>(b, bits);
  return b.copysign(b.fma(p, s, b.sub(s, b.constant(1))), x);
}

/// x * Phi(x), Phi the normal distribution; 4 ulp or 2^-23|x| (f64: 2^-52|x|). In f32 Phi is a
/// logistic function of x times a polynomial in x^2.
template <class F, class B>
typename B::V math_gelu(B& b, typename B::V x) {
  if constexpr (sizeof(F) == 4) {
    x = above_vanished(b, x);
    return gate<F>(b, x, b.mul(x, horner(b, Coefficients<F>::kGelu, b.mul(x, x))));
  } else {
    const auto erf = math_erf<F>(b, b.mul(x, b.constant(0x1.6a09e667f3bcdp-1)));
    const auto half = b.mul(above_vanished(b, x), b.constant(0.5));
    return b.copysign(b.fma(half, erf, half), x);
  }
}

}  // namespace hone::jit
