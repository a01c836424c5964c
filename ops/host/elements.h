// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "ops/host/host_function.h"

namespace hone::ops {

/// Element `i` of `data`, which need not be of that type.
template <class T>
T element_at(const void* data, int64_t i) {
  T value;
  std::memcpy(&value, static_cast<const std::byte*>(data) + i * static_cast<int64_t>(sizeof(T)),
              sizeof value);
  return value;
}

/// Calls `f` with an unsigned integer that is as wide as an element of whole bytes.
template <class F>
auto with_bits(DType type, const F& f) {
  switch (size_of(type)) {
    case 1:
      return f(uint8_t());
    case 2:
      return f(uint16_t());
    case 4:
      return f(uint32_t());
    default:
      return f(uint64_t());
  }
}

/// The bits of element `i` of a tensor of whole bytes.
inline uint64_t bits_at(const TensorRef& t, int64_t i) {
  return with_bits(t.type(),
                   [&](auto zero) -> uint64_t { return element_at<decltype(zero)>(t.data(), i); });
}

/// The product of extents; -1 where 64 bits do not hold it.
int64_t product_of(std::span<const int64_t> extents);
/// The same of expressions.
ir::Expr product_of(std::span<const ir::Expr> extents);

/// A tensor as `outer` parts of `length` slices of `inner` elements; with an axis below 0 each
/// element is a slice of one part.
struct Slices {
  Slices(const TensorRef& t, int64_t axis);
  int64_t outer = 1, length = 1, inner = 1;
};

/// An integer that orders elements as their values are: both zeros are equal, and what is no number
/// comes last, all of it equal.
uint64_t order_key(DType type, uint64_t bits);

}  // namespace hone::ops
