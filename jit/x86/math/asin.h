// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "jit/x86/math/atan.h"

namespace hone::jit {

/// `s + rest` is the arc sine of a, from 0 to 1, or of sqrt((1 - a) / 2) where a is far. Twice the
/// latter is missing to half a pi.
template <class B>
struct ArcSine {
  typename B::V s, rest;
  typename B::M far;  ///< a > 1/2
};

template <class F, class B>
ArcSine<B> arc_sine(B& b, typename B::V size) {
  const auto far = b.gt(size, b.constant(0.5));
  // 1 - a is exact, and so is its half.
  const auto left = b.mul(b.sub(b.constant(1), size), b.constant(0.5));
  const auto square = b.select(far, left, b.mul(size, size));
  const auto s = b.select(far, b.sqrt(left), size);
  const auto tail = polynomial(b, Coefficients<F>::kAsin, square);
  return {s, b.mul(b.mul(s, square), tail), far};
}

/// `turned`, a small multiple of half a pi, rounded, and `times` the arc sine.
template <class F, class B>
typename B::V angle_from(B& b, typename B::V turned, typename B::V times, const ArcSine<B>& angle) {
  const auto high = b.fma(times, angle.s, turned);
  const auto lost = b.fma(times, angle.s, b.sub(turned, high));
  const auto low = b.fma(turned, b.constant(HalfPi<F>::kLeft), lost);
  return b.add(high, b.fma(times, angle.rest, low));
}

/// asin x; 2 ulp (f64: 4). Beyond 1/2 it is pi/2 - 2 asin(sqrt((1 - x) / 2)).
template <class F, class B>
typename B::V math_asin(B& b, typename B::V x) {
  const ArcSine<B> angle = arc_sine<F>(b, magnitude<F>(b, x));
  const auto turned = b.select(angle.far, b.constant(HalfPi<F>::kNearest), b.constant(0));
  const auto times = b.select(angle.far, b.constant(-2), b.constant(1));
  return b.copysign(angle_from<F>(b, turned, times, angle), x);
}

/// acos x; 2 ulp (f64: 4): pi/2 - asin x, beyond 1/2 2 asin(sqrt((1 - x) / 2)) from the nearer end.
template <class F, class B>
typename B::V math_acos(B& b, typename B::V x) {
  const auto zero = b.constant(0);
  const auto sign = b.and_(x, b.constant_bits(Format<F>::kSign));
  const ArcSine<B> angle = arc_sine<F>(b, magnitude<F>(b, x));
  const auto end = b.select(b.lt(x, zero), b.constant(2 * HalfPi<F>::kNearest), zero);
  const auto turned = b.select(angle.far, end, b.constant(HalfPi<F>::kNearest));
  const auto times = b.xor_(b.select(angle.far, b.constant(2), b.constant(-1)), sign);
  return angle_from<F>(b, turned, times, angle);
}

}  // namespace hone::jit
