// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "hone/dtype.h"

namespace hone {

/// Storage of one IEEE half; hone reads and writes the bits, arithmetic is the caller's.
struct f16 {
  uint16_t bits = 0;
};

/// Storage of one bfloat16: the upper half of a float's bits.
struct bf16 {
  uint16_t bits = 0;
};

/// Storage of one OCP FP8 element of the format with 4 bits of exponent and 3 of mantissa.
struct f8e4m3 {
  uint8_t bits = 0;
};

/// Storage of one OCP FP8 element of the format with 5 bits of exponent and 2 of mantissa.
struct f8e5m2 {
  uint8_t bits = 0;
};

/// The dtype of a C++ element type. Specialise it (a static member `value`) to pass tensors of a
/// type of one's own, such as another library's half.
template <class T>
struct dtype_of {};
template <>
struct dtype_of<double> {
  static constexpr DType value = DType::kF64;
};
template <>
struct dtype_of<float> {
  static constexpr DType value = DType::kF32;
};
template <>
struct dtype_of<f16> {
  static constexpr DType value = DType::kF16;
};
template <>
struct dtype_of<bf16> {
  static constexpr DType value = DType::kBF16;
};
template <>
struct dtype_of<f8e4m3> {
  static constexpr DType value = DType::kF8E4M3;
};
template <>
struct dtype_of<f8e5m2> {
  static constexpr DType value = DType::kF8E5M2;
};
template <>
struct dtype_of<bool> {
  static constexpr DType value = DType::kBool;
};
/// int8_t to int64_t under whatever name: char is text, and no element.
template <class T>
concept SignedInteger = std::signed_integral<T> && !std::same_as<T, char>;
template <SignedInteger T>
struct dtype_of<T> {
  static constexpr DType value = sizeof(T) == 8   ? DType::kI64
                                 : sizeof(T) == 4 ? DType::kI32
                                 : sizeof(T) == 2 ? DType::kI16
                                                  : DType::kI8;
};
template <>
struct dtype_of<unsigned char> {
  static constexpr DType value = DType::kU8;
};
template <>
struct dtype_of<std::byte> {
  static constexpr DType value = DType::kU8;
};

/// C++ types that can be elements of a tensor.
template <class T>
concept Element = requires {
  { dtype_of<std::remove_cv_t<T>>::value } -> std::convertible_to<DType>;
};

}  // namespace hone
