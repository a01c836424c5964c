// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>

namespace hone::onnx {

/// Element types by ONNX's numbers. A file may hold a number that stands for none of these.
/// Fixed by: onnx.proto.
enum class DataType : int32_t {
  kUndefined = 0,
  kFloat = 1,
  kUint8 = 2,
  kInt8 = 3,
  kUint16 = 4,
  kInt16 = 5,
  kInt32 = 6,
  kInt64 = 7,
  kString = 8,
  kBool = 9,
  kFloat16 = 10,
  kDouble = 11,
  kUint32 = 12,
  kUint64 = 13,
  kComplex64 = 14,
  kComplex128 = 15,
  kBfloat16 = 16,
  kFloat8E4M3FN = 17,
  kFloat8E4M3FNUZ = 18,
  kFloat8E5M2 = 19,
  kFloat8E5M2FNUZ = 20,
  kUint4 = 21,
  kInt4 = 22,
  kFloat4E2M1 = 23,
  kFloat8E8M0 = 24,
  kUint2 = 25,
  kInt2 = 26,
};

/// The name that ONNX gives a type in signatures, such as `float16`; "" for an unknown number.
std::string_view name_of(DataType type);

/// Fixed by: the machines that hone runs on.
inline constexpr int kBitsOfByte = 8;

/// Bits of one element; 0 for strings and unknown numbers.
int bits_of(DataType type);

/// Bytes of `count` elements. Those of less than a byte share bytes, the first in the low bits.
int64_t bytes_of(DataType type, int64_t count);

}  // namespace hone::onnx
