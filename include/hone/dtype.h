// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace hone {

/// Element types of tensors and scalars. `kBool` is stored as one byte holding 0 or 1.
enum class DType : uint8_t { kF64, kF32, kF16, kBF16, kI64, kI32, kI16, kI8, kU8, kBool };

inline constexpr int kDTypeCount = 10;

/// Bytes of one element in memory.
constexpr int size_of(DType t) {
  constexpr int8_t bytes[kDTypeCount] = {8, 4, 2, 2, 8, 4, 2, 1, 1, 1};
  return bytes[static_cast<int>(t)];
}

/// True for f64, f32, f16 and bf16.
constexpr bool is_float(DType t) { return t <= DType::kBF16; }

/// True for the integer types; false for bool.
constexpr bool is_int(DType t) { return t >= DType::kI64 && t <= DType::kU8; }

/// The type's name in the language: f64 f32 f16 bf16 i64 i32 i16 i8 u8 bool.
constexpr std::string_view name_of(DType t) {
  constexpr std::string_view names[kDTypeCount] = {"f64", "f32", "f16", "bf16", "i64",
                                                   "i32", "i16", "i8",  "u8",   "bool"};
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
