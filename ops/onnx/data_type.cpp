// SPDX-License-Identifier: Apache-2.0
#include "ops/onnx/data_type.h"

#include <array>
#include <cstddef>

namespace hone::onnx {
namespace {

struct Row {
  std::string_view name;
  int bits = 0;
};

// Fixed by: onnx.proto, whose numbers are the places.
constexpr std::array<Row, 27> kRows = {{
    {"", 0},
    {"float", 32},
    {"uint8", 8},
    {"int8", 8},
    {"uint16", 16},
    {"int16", 16},
    {"int32", 32},
    {"int64", 64},
    {"string", 0},
    {"bool", 8},
    {"float16", 16},
    {"double", 64},
    {"uint32", 32},
    {"uint64", 64},
    {"complex64", 64},
    {"complex128", 128},
    {"bfloat16", 16},
    {"float8e4m3fn", 8},
    {"float8e4m3fnuz", 8},
    {"float8e5m2", 8},
    {"float8e5m2fnuz", 8},
    {"uint4", 4},
    {"int4", 4},
    {"float4e2m1", 4},
    {"float8e8m0", 8},
    {"uint2", 2},
    {"int2", 2},
}};
static_assert(kRows.size() == static_cast<size_t>(DataType::kInt2) + 1);

const Row& row_of(DataType type) {
  const auto place = static_cast<uint32_t>(type);
  return place < kRows.size() ? kRows[place] : kRows[0];
}

}  // namespace

std::string_view name_of(DataType type) { return row_of(type).name; }

int bits_of(DataType type) { return row_of(type).bits; }

int64_t bytes_of(DataType type, int64_t count) {
  const int bits = bits_of(type);
  if (bits >= kBitsOfByte) return count * (bits / kBitsOfByte);
  const int64_t in_byte = bits == 0 ? 1 : kBitsOfByte / bits;
  return bits == 0 ? 0 : count / in_byte + (count % in_byte != 0 ? 1 : 0);
}

}  // namespace hone::onnx
