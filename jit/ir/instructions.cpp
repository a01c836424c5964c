// SPDX-License-Identifier: Apache-2.0
#include "jit/ir/instructions.h"

namespace hone::ir {
namespace {

constexpr uint32_t kAvx2 = static_cast<uint32_t>(Isa::kAvx2);
constexpr uint32_t kVnni = static_cast<uint32_t>(Isa::kVnni);
constexpr uint32_t kAvxVnni = static_cast<uint32_t>(Isa::kAvxVnni);
constexpr uint32_t kBf16 = static_cast<uint32_t>(Isa::kBf16);

constexpr Instruction kInstructions[] = {
    {"vnni.u8i8", 4, DType::kU8, DType::kI8, DType::kI32, kVnni, kAvxVnni, 1, 0, 0, nullptr,
     "Four products of an unsigned and a signed byte."},
    {"vnni.i8i8", 4, DType::kI8, DType::kI8, DType::kI32, kVnni, kAvxVnni, 1, 0, 1, nullptr,
     "Four products of signed bytes: one factor made unsigned by adding 128, and 128 times the sum "
     "of the other taken off in the end."},
    {"vnni.u8u8", 4, DType::kU8, DType::kU8, DType::kI32, kVnni, kAvxVnni, 1, 0, 1, nullptr,
     "Four products of unsigned bytes: one factor made signed by taking off 128, and 128 times the "
     "sum of the other added in the end."},
    {"vnni.i16i16", 2, DType::kI16, DType::kI16, DType::kI32, kVnni, kAvxVnni, 1, 0, 0, nullptr,
     "Two products of 16-bit integers; the sum wraps."},
    {"bf16.dot", 2, DType::kBF16, DType::kBF16, DType::kF32, kBf16, 0, 1, 0, 0, "bf16.dot2",
     "Two products of bfloat16, added in f32; denormals count as zero, rounding is to nearest "
     "even."},
    {"madd.i16i16", 2, DType::kI16, DType::kI16, DType::kI32, kAvx2, 0, 2, 0, 0, nullptr,
     "Two products of 16-bit integers, added apart; the sum wraps."},
    {"madd.u8i8", 2, DType::kU8, DType::kI8, DType::kI32, kAvx2, 0, 2, 1, 0, nullptr,
     "Two products of an unsigned and a signed byte, widened to 16 bits first."},
    {"madd.i8i8", 2, DType::kI8, DType::kI8, DType::kI32, kAvx2, 0, 2, 1, 0, nullptr,
     "Two products of signed bytes, widened to 16 bits first."},
    {"madd.u8u8", 2, DType::kU8, DType::kU8, DType::kI32, kAvx2, 0, 2, 1, 0, nullptr,
     "Two products of unsigned bytes, widened to 16 bits first."},
};

bool has_all(const Target& target, uint32_t isa) { return (target.isa & isa) == isa; }

}  // namespace

std::span<const Instruction> instructions() { return kInstructions; }

const Instruction* instruction_named(std::string_view name) {
  for (const Instruction& row : kInstructions) {
    if (name == row.name) return &row;
  }
  return nullptr;
}

bool available(const Instruction& row, const Target& target) {
  return has_all(target, row.isa) || (row.or_isa != 0 && has_all(target, row.or_isa));
}

std::string needs(const Instruction& row) {
  std::string text = "isa=" + isa_text(row.isa);
  if (row.or_isa != 0) text += " or isa=" + isa_text(row.or_isa);
  return text;
}

}  // namespace hone::ir
