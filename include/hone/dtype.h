// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace hone {

/// Element types of tensors and scalars. `kBool` is stored as one byte holding 0 or 1. `kF8E4M3`
/// and `kF8E5M2` are OCP's 8-bit floats; the former has no infinities. The types of less than a
/// byte come last: several elements share a byte, the first in its low bits.
enum class DType : uint8_t {
  kF64,
  kF32,
  kF16,
  kBF16,
  kI64,
  kI32,
  kI16,
  kI8,
  kU8,
  kBool,
  kF8E4M3,
  kF8E5M2,
  kI4,
  kU4,
  kI2,
  kU2,
  kU1
};

inline constexpr int kDTypeCount = 17;

/// Bits of one element in memory.
constexpr int bit_width_of(DType t) {
  constexpr int8_t bits[kDTypeCount] = {64, 32, 16, 16, 64, 32, 16, 8, 8, 8, 8, 8, 4, 4, 2, 2, 1};
  return bits[static_cast<int>(t)];
}

/// True for the types of less than a byte: i4 u4 i2 u2 u1.
constexpr bool is_packed(DType t) { return t >= DType::kI4; }

/// Bytes of one element in memory; of the types of less than a byte, the byte that holds it.
constexpr int size_of(DType t) { return is_packed(t) ? 1 : bit_width_of(t) / 8; }

/// Elements that share a byte: 2 of i4 and u4, 4 of i2 and u2, 8 of u1; 1 of all other types.
constexpr int elements_per_byte(DType t) { return is_packed(t) ? 8 / bit_width_of(t) : 1; }

/// Bytes of `count` elements side by side in memory. Those of less than a byte begin at a whole
/// one.
constexpr int64_t bytes_of_row(DType t, int64_t count) {
  const int64_t in_byte = elements_per_byte(t);
  return is_packed(t) ? count / in_byte + (count % in_byte != 0) : count * size_of(t);
}

/// True for f64, f32, f16, bf16, f8e4m3 and f8e5m2.
constexpr bool is_float(DType t) {
  return t <= DType::kBF16 || t == DType::kF8E4M3 || t == DType::kF8E5M2;
}

/// True for the floats that are for storage alone, and f32 in arithmetic: f16, bf16, f8e4m3,
/// f8e5m2.
constexpr bool is_narrow_float(DType t) { return is_float(t) && size_of(t) < 4; }

/// True for the integer types; false for bool.
constexpr bool is_int(DType t) { return (t >= DType::kI64 && t <= DType::kU8) || is_packed(t); }

/// True for the integers that have no negative values: u8 u4 u2 u1.
constexpr bool is_unsigned(DType t) {
  return t == DType::kU8 || t == DType::kU4 || t == DType::kU2 || t == DType::kU1;
}

/// The type's name in the language: f64 f32 f16 bf16 i64 i32 i16 i8 u8 bool f8e4m3 f8e5m2 i4 u4 i2
/// u2 u1.
constexpr std::string_view name_of(DType t) {
  constexpr std::string_view names[kDTypeCount] = {"f64", "f32", "f16", "bf16", "i64",    "i32",
                                                   "i16", "i8",  "u8",  "bool", "f8e4m3", "f8e5m2",
                                                   "i4",  "u4",  "i2",  "u2",   "u1"};
  return names[static_cast<int>(t)];
}

/// The type of that name, or nothing.
constexpr std::optional<DType> dtype_named(std::string_view name) {
  for (int i = 0; i < kDTypeCount; ++i) {
    if (name_of(static_cast<DType>(i)) == name) return static_cast<DType>(i);
  }
  return std::nullopt;
}

}  // namespace hone
