// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "jit/x86/math/log.h"

namespace hone::jit {

/// The cube root; 1 ulp. Let w = m 2^r and x = w 2^(3k), r in {-1, 0, 1}. Then c = w y^2, where y
/// is w^(-1/3) to half of the bits. The result is c + (w - c^3) y^2 / 3.
template <class F, class B>
typename B::V math_cbrt(B& b, typename B::V x) {
  constexpr double kRoot = 0x1.428a2f98d728bp0;  // of 2
  const auto size = magnitude<F>(b, x);
  const auto [m, e] = split_binary<F>(b, size);
  const auto [bits, k] = round_product<F>(b, e, 1.0 / 3, Format<F>::kBias);
  const auto r = b.fnma(k, b.constant(3), e);
  const auto up = b.gt(r, b.constant(0.5)), down = b.lt(r, b.constant(-0.5));
  const auto one = b.constant(1);
  const auto w = b.mul(m, b.select(up, b.constant(2), b.select(down, b.constant(0.5), one)));
  const auto third = b.select(up, b.constant(1 / kRoot), b.select(down, b.constant(kRoot), one));
  const auto y = b.mul(polynomial(b, Coefficients<F>::kInverseCbrt, b.sub(m, one)), third);
  const auto square = b.mul(y, y);
  const auto c = b.mul(w, square);
  const auto left = b.fnma(b.mul(c, c), c, w);
  const auto root = b.fma(left, b.mul(square, b.constant(1.0 / 3)), c);
  // 0, infinities and NaN are their own roots.
  const auto inf = b.constant(std::numeric_limits<double>::infinity());
  const auto ordinary = b.both(b.gt(size, b.constant(0)), b.lt(size, inf));
  const auto scaled = b.mul(root, power_of_two<F>(b, bits));
  return b.select(ordinary, b.copysign(scaled, x), x);
}

}  // namespace hone::jit
