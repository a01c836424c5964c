// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "jit/x86/math/exp.h"

namespace hone::jit {

/// e^|x| / 4, finite wherever sinh and cosh are and a little beyond. It is a quarter exactly, so
/// that only doubling a result can overflow.
template <class F, class B>
typename B::V quarter_exp(B& b, typename B::V size) {
  const auto limited = b.min(b.constant(sizeof(F) == 4 ? 89.5 : 710.5), size);
  const auto [p, bits] = expm1_parts<F>(b, limited, Format<F>::kBias - 2);
  const auto s = power_of_two<F>(b, bits);
  return b.fma(p, s, s);
}

/// The hyperbolic cosine as 2 (q + 1 / (16 q)), q = e^|x| / 4; 2 ulp (f64: 4).
template <class F, class B>
typename B::V math_cosh(B& b, typename B::V x) {
  const auto q = quarter_exp<F>(b, magnitude<F>(b, x));
  const auto half = b.add(q, b.div(b.constant(0.0625), q));
  return b.add(half, half);
}

/// The hyperbolic sine as 2 (q - 1 / (16 q)), by a polynomial up to 1; 2 ulp (f64: 4).
template <class F, class B>
typename B::V math_sinh(B& b, typename B::V x) {
  const auto size = magnitude<F>(b, x);
  const auto q = quarter_exp<F>(b, size);
  const auto half = b.sub(q, b.div(b.constant(0.0625), q));
  const auto square = b.mul(x, x);
  const auto tail = polynomial(b, Coefficients<F>::kSinh, square);
  const auto near = b.fma(b.mul(size, square), tail, size);
  const auto small = b.lt(size, b.constant(1));
  return b.copysign(b.select(small, near, b.add(half, half)), x);
}

}  // namespace hone::jit
