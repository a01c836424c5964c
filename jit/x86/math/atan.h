// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "jit/x86/math/builder.h"
#include "jit/x86/math/coefficients.h"

namespace hone::jit {

/// Half of pi as the nearest F, and what that leaves as a share of it.
template <class F>
struct HalfPi;
template <>
struct HalfPi<float> {
  static constexpr double kNearest = 0x1.921fb6p0, kLeft = -0x1.de12cap-26;
};
template <>
struct HalfPi<double> {
  static constexpr double kNearest = 0x1.921fb54442d18p0, kLeft = 0x1.678afae35cdd1p-55;
};

/// atan t for |t| <= 1.
template <class F, class B>
typename B::V atan_near(B& b, typename B::V t) {
  const auto square = b.mul(t, t);
  return b.fma(b.mul(t, square), polynomial(b, Coefficients<F>::kAtan, square), t);
}

/// The angle `turned` + t where `turned` is a small multiple of half a pi, rounded.
template <class F, class B>
typename B::V angle_from(B& b, typename B::V turned, typename B::V t) {
  return b.add(turned, b.fma(turned, b.constant(HalfPi<F>::kLeft), t));
}

/// atan x; 2 ulp (f64: 4). Beyond 1 it is pi/2 + atan(-1/x).
template <class F, class B>
typename B::V math_atan(B& b, typename B::V x) {
  const auto size = magnitude<F>(b, x);
  const auto one = b.constant(1);
  const auto far = b.gt(size, one);
  const auto t = b.div(b.select(far, b.constant(-1), size), b.select(far, size, one));
  const auto turned = b.select(far, b.constant(HalfPi<F>::kNearest), b.constant(0));
  return b.copysign(angle_from<F>(b, turned, atan_near<F>(b, t)), x);
}

/// The angle of the point (x, y) with the special cases of C's atan2; 2 ulp (f64: 4), sampled.
template <class F, class B>
typename B::V math_atan2(B& b, typename B::V y, typename B::V x) {
  const auto zero = b.constant(0);
  const auto one = b.constant(1);
  const auto sign = b.constant_bits(Format<F>::kSign);
  const auto width = magnitude<F>(b, x), height = magnitude<F>(b, y);
  const auto steep = b.gt(height, width);
  const auto top = b.select(steep, width, height);
  const auto bottom = b.select(steep, height, width);
  // Equal ones may both be 0, which counts as the angle 0, or infinite.
  const auto alike = b.select(b.eq(top, zero), zero, one);
  const auto t = b.select(b.eq(top, bottom), alike, b.div(top, bottom));
  // Left of the origin, where x may be -0, the angle grows the other way, from pi or half of it.
  const auto side = b.and_(x, sign);
  const auto left = b.lt(b.or_(side, one), zero);
  const auto near = atan_near<F>(b, t);
  const auto turned = b.select(steep, b.constant(HalfPi<F>::kNearest),
                               b.select(left, b.constant(2 * HalfPi<F>::kNearest), zero));
  const auto against = b.xor_(side, b.select(steep, sign, zero));
  return b.copysign(angle_from<F>(b, turned, b.xor_(near, against)), y);
}

}  // namespace hone::jit
