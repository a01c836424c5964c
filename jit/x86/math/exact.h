// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "jit/x86/math/builder.h"

namespace hone::jit {

/// An unevaluated sum of two values, the second below the first's rounding error.
template <class V>
struct Pair {
  V high;
  V low;
};

/// a + b exactly.
template <class B>
Pair<typename B::V> exact_sum(B& b, typename B::V x, typename B::V y) {
  const auto sum = b.add(x, y);
  const auto from_y = b.sub(sum, x);
  const auto from_x = b.sub(sum, from_y);
  return {sum, b.add(b.sub(x, from_x), b.sub(y, from_y))};
}

/// a + b exactly where |a| >= |b| or a is 0.
template <class B>
Pair<typename B::V> exact_sum_ordered(B& b, typename B::V x, typename B::V y) {
  const auto sum = b.add(x, y);
  return {sum, b.sub(y, b.sub(sum, x))};
}

/// a * b exactly, but for underflow.
template <class B>
Pair<typename B::V> exact_product(B& b, typename B::V x, typename B::V y) {
  const auto product = b.mul(x, y);
  return {product, b.fms(x, y, product)};
}

}  // namespace hone::jit
