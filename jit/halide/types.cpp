// SPDX-License-Identifier: Apache-2.0
#include "jit/halide/types.h"

#include <cmath>
#include <cstdint>
#include <limits>
#include <utility>

namespace hone::jit::halide {
namespace {

using Halide::cast;
using Halide::select;

Halide::Expr integer(Halide::Type type, int64_t value) {
  return Halide::Internal::make_const(type, value);
}

/// Of float `v`, within the limits of an integer type of `bits`.
Halide::Expr saturated(const Halide::Expr& v, Halide::Type type) {
  const int digits = type.is_uint() ? type.bits() : type.bits() - 1;
  const int64_t most =
      digits == 63 ? std::numeric_limits<int64_t>::max() : (int64_t{1} << digits) - 1;
  const int64_t least = type.is_uint() ? 0 : -most - 1;
  const Halide::Expr low = cast(v.type(), Halide::Expr(static_cast<double>(least)));
  const Halide::Expr end = cast(v.type(), Halide::Expr(std::ldexp(1.0, digits)));
  const Halide::Expr nan = is_nan_bits(v);
  const Halide::Expr zero = Halide::Internal::make_zero(v.type());
  // What is converted is inside, whatever is chosen afterwards.
  const Halide::Expr inside = select(nan || v <= low || v >= end, zero, v);
  return select(nan, integer(type, 0), v <= low, integer(type, least), v >= end,
                integer(type, most), cast(type, inside));
}

}  // namespace

void refuse(std::string why) { throw ir::Reject(std::move(why)); }

Halide::Type value_type(DType type) {
  switch (type) {
    case DType::kF64:
      return Halide::Float(64);
    case DType::kF32:
      return Halide::Float(32);
    case DType::kF16:
      return Halide::Float(16);
    case DType::kBF16:
      return Halide::BFloat(16);
    case DType::kF8E4M3:
    case DType::kF8E5M2:
      refuse("Halide has no 8-bit floats");
    case DType::kU8:
      return Halide::UInt(8);
    case DType::kBool:
      return Halide::Bool();
    default:
      return Halide::Int(8 * size_of(type));
  }
}

Halide::Type stored_type(DType type) {
  return type == DType::kBool ? Halide::UInt(8) : value_type(type);
}

Halide::Expr to_stored(const Halide::Expr& value, DType type) {
  return cast(stored_type(type), value);
}

Halide::Expr from_stored(const Halide::Expr& element, DType type) {
  return type == DType::kBool ? element != cast<uint8_t>(0) : element;
}

Halide::Expr converted(const Halide::Expr& value, DType from, DType to) {
  if (from == to) return value;
  if (to == DType::kBool) {
    if (!is_float(from)) return value != Halide::Internal::make_zero(value.type());
    return is_nan_bits(value) || value != Halide::Internal::make_zero(value.type());
  }
  if (is_float(from) && is_int(to)) {
    const bool narrow = size_of(from) == 2;
    return saturated(narrow ? cast<float>(value) : value, value_type(to));
  }
  return cast(value_type(to), value);
}

Halide::Expr is_nan_bits(const Halide::Expr& value) {
  const Halide::Type t = value.type();
  const int mantissa = t.bits() == 64 ? 52 : t.bits() == 32 ? 23 : t.is_bfloat() ? 7 : 10;
  const int exponent = t.bits() - 1 - mantissa;
  const uint64_t infinity = ((uint64_t{1} << exponent) - 1) << mantissa;
  const uint64_t magnitude = (uint64_t{1} << (t.bits() - 1)) - 1;
  const Halide::Type bits = Halide::UInt(t.bits());
  return (Halide::reinterpret(bits, value) & Halide::Internal::make_const(bits, magnitude)) >
         Halide::Internal::make_const(bits, infinity);
}

Halide::Expr order_of(const Halide::Expr& value) {
  const Halide::Type bits = Halide::Int(value.type().bits());
  const Halide::Expr b = Halide::reinterpret(bits, value);
  const int64_t magnitude = static_cast<int64_t>((uint64_t{1} << (bits.bits() - 1)) - 1);
  return select(b < integer(bits, 0), b ^ integer(bits, magnitude), b);
}

Halide::Expr greater(const Halide::Expr& a, const Halide::Expr& b, Floats floats) {
  if (!a.type().is_float() || floats == Floats::kFast) return Halide::max(a, b);
  return select(is_nan_bits(a), a, is_nan_bits(b), b, Halide::max(a, b));
}

Halide::Expr lesser(const Halide::Expr& a, const Halide::Expr& b, Floats floats) {
  if (!a.type().is_float() || floats == Floats::kFast) return Halide::min(a, b);
  return select(is_nan_bits(a), a, is_nan_bits(b), b, Halide::min(a, b));
}

}  // namespace hone::jit::halide
