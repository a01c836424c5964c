// SPDX-License-Identifier: Apache-2.0
#include "ops/host/elements.h"

#include <limits>

namespace hone::ops {
namespace {

/// Bits of the mantissa of a float.
/// Fixed by: the formats.
int mantissa_of(DType type) {
  switch (type) {
    case DType::kF64:
      return 52;
    case DType::kF32:
      return 23;
    case DType::kF16:
      return 10;
    case DType::kBF16:
      return 7;
    case DType::kF8E4M3:
      return 3;
    default:
      return 2;
  }
}

/// The largest magnitude that is a number. Of f8e4m3 one pattern alone is none.
uint64_t largest_magnitude(DType type, uint64_t sign) {
  if (type == DType::kF8E4M3) return sign - 2;
  // Infinity: all bits of the exponent.
  return sign - (uint64_t{1} << mantissa_of(type));
}

}  // namespace

int64_t product_of(std::span<const int64_t> extents) {
  int64_t product = 1;
  for (const int64_t e : extents) {
    if (__builtin_mul_overflow(product, e, &product)) return -1;
  }
  return product;
}

ir::Expr product_of(std::span<const ir::Expr> extents) {
  ir::Expr product = ir::make_int(1);
  for (const ir::Expr& e : extents) {
    int64_t one = 0;
    const bool first = ir::is_const(product, &one) && one == 1;
    product = first ? e : ir::make_binary(ir::Op::kMul, product, e);
  }
  return product;
}

Slices::Slices(const TensorRef& t, int64_t axis) {
  if (axis < 0) {
    length = t.count();
    return;
  }
  for (int i = 0; i < t.rank(); ++i) {
    (i < axis ? outer : i == axis ? length : inner) *= t.extent(i);
  }
}

uint64_t order_key(DType type, uint64_t bits) {
  const uint64_t middle = uint64_t{1} << 63;
  const int width = bit_width_of(type);
  const uint64_t sign = uint64_t{1} << (width - 1);
  if (!is_float(type)) {
    if (is_unsigned(type) || type == DType::kBool) return middle + bits;
    const bool negative = (bits & sign) != 0;
    const uint64_t above = width == 64 ? 0 : ~uint64_t{0} << width;
    return middle + (negative ? bits | above : bits);
  }
  const uint64_t magnitude = bits & (sign - 1);
  if (magnitude > largest_magnitude(type, sign)) return std::numeric_limits<uint64_t>::max();
  return (bits & sign) != 0 ? middle - magnitude : middle + magnitude;
}

}  // namespace hone::ops
