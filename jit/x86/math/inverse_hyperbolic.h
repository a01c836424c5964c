// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "jit/x86/math/log.h"

namespace hone::jit {

/// From there on asinh x and acosh x are log(1 + x) + log 2 to the last place. Below it squares are
/// finite.
template <class F>
constexpr double kOnlyLog = sizeof(F) == 4 ? 0x1p30 : 0x1p60;

/// log(1 + y), or where x is large log(2x).
template <class F, class B>
typename B::V log_beside_one(B& b, typename B::V x, const Pair<typename B::V>& y) {
  const auto large = b.ge(x, b.constant(kOnlyLog<F>));
  const auto zero = b.constant(0);
  const auto log = log1p_of_sum<F>(b, {b.select(large, x, y.high), b.select(large, zero, y.low)});
  return b.add(log, b.select(large, b.constant(kLn2), zero));
}

/// asinh x = log(1 + a + a^2 / (1 + sqrt(a^2 + 1))), a the magnitude of x; 2 ulp (f64: 4).
template <class F, class B>
typename B::V math_asinh(B& b, typename B::V x) {
  const auto size = magnitude<F>(b, x);
  const auto one = b.constant(1);
  const auto root = b.sqrt(b.fma(size, size, one));
  const auto more = b.div(b.mul(size, size), b.add(one, root));
  return b.copysign(log_beside_one<F>(b, size, exact_sum_ordered(b, size, more)), x);
}

/// acosh x = log(1 + t + sqrt(t^2 + 2t)), t = x - 1; 2 ulp (f64: 4).
template <class F, class B>
typename B::V math_acosh(B& b, typename B::V x) {
  const auto one = b.constant(1);
  const auto t = b.sub(x, one);
  const auto square = b.fma(t, t, b.add(t, t));
  const auto root = b.sqrt(square);
  // What rounding the root lost is to first order what its square lacks, over twice the root.
  const auto lacks = b.fnma(root, root, square);
  const auto lost = b.div(lacks, b.max(b.constant(Format<F>::kSmallestNormal), b.add(root, root)));
  const auto sum = exact_sum_ordered(b, root, t);
  const auto nan = b.constant(std::numeric_limits<double>::quiet_NaN());
  return log_beside_one<F>(b, x, {b.select(b.lt(x, one), nan, sum.high), b.add(sum.low, lost)});
}

/// atanh x = log(1 + 2a / (1 - a)) / 2, a the magnitude of x; 2 ulp (f64: 4).
template <class F, class B>
typename B::V math_atanh(B& b, typename B::V x) {
  const auto size = magnitude<F>(b, x);
  const auto one = b.constant(1);
  const auto top = b.add(size, size), bottom = b.sub(one, size);
  const auto ratio = b.div(top, bottom);
  // What rounding 1 - a and the ratio lost, over 1 - a; at 1 nothing is.
  const auto cut = b.sub(b.sub(one, bottom), size);
  const auto lacks = b.fnma(ratio, cut, b.fnma(ratio, bottom, top));
  const auto low = b.select(b.lt(size, one), b.div(lacks, bottom), b.constant(0));
  return b.copysign(b.mul(log1p_of_sum<F>(b, {ratio, low}), b.constant(0.5)), x);
}

}  // namespace hone::jit
