// SPDX-License-Identifier: Apache-2.0
#include "jit/ir/instructions.h"

#include <algorithm>

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
    // Of a GPU's tensor cores. PTX ISA, instruction mma.sync.
    {"mma.f16", 16, DType::kF16, DType::kF16, DType::kF32, 0, 0, 1, 0, 0, "mma",
     "Tiles of half floats, summed in f32 as the hardware rounds.", 16, 8, 32, 80},
    {"mma.bf16", 16, DType::kBF16, DType::kBF16, DType::kF32, 0, 0, 1, 0, 0, "mma",
     "Tiles of bfloat16, summed in f32 as the hardware rounds.", 16, 8, 32, 80},
    {"mma.i8i8", 32, DType::kI8, DType::kI8, DType::kI32, 0, 0, 1, 0, 0, nullptr,
     "Tiles of signed bytes; the sum wraps.", 16, 8, 32, 80},
    {"mma.u8u8", 32, DType::kU8, DType::kU8, DType::kI32, 0, 0, 1, 0, 0, nullptr,
     "Tiles of unsigned bytes; the sum wraps.", 16, 8, 32, 80},
    {"mma.u8i8", 32, DType::kU8, DType::kI8, DType::kI32, 0, 0, 1, 0, 0, nullptr,
     "Tiles of unsigned by signed bytes; the sum wraps.", 16, 8, 32, 80},
    {"mma.i8u8", 32, DType::kI8, DType::kU8, DType::kI32, 0, 0, 1, 0, 0, nullptr,
     "Tiles of signed by unsigned bytes; the sum wraps.", 16, 8, 32, 80},
    {"mma.f64", 4, DType::kF64, DType::kF64, DType::kF64, 0, 0, 1, 0, 0, "mma",
     "Tiles of doubles, each product fused with its addition.", 8, 8, 32, 80},
    {"mma.tf32", 8, DType::kF32, DType::kF32, DType::kF32, 0, 0, 1, 0, 0, "mma.tf32",
     "Tiles of floats of which 10 bits of the fraction count, summed in f32.", 16, 8, 32, 80, true},
    // Of a warpgroup, in sm_90 alone. PTX ISA, instruction wgmma.mma_async.
    {"wgmma.f16", 16, DType::kF16, DType::kF16, DType::kF32, 0, 0, 1, 0, 0, "mma",
     "Tiles of half floats in shared memory, summed in f32 as the hardware rounds.", 64, 8, 128, 90,
     false, 256},
    {"wgmma.bf16", 16, DType::kBF16, DType::kBF16, DType::kF32, 0, 0, 1, 0, 0, "mma",
     "Tiles of bfloat16 in shared memory, summed in f32 as the hardware rounds.", 64, 8, 128, 90,
     false, 256},
    {"wgmma.i8i8", 32, DType::kI8, DType::kI8, DType::kI32, 0, 0, 1, 0, 0, nullptr,
     "Tiles of signed bytes in shared memory; the sum wraps.", 64, 8, 128, 90, false, 256},
    {"wgmma.u8u8", 32, DType::kU8, DType::kU8, DType::kI32, 0, 0, 1, 0, 0, nullptr,
     "Tiles of unsigned bytes in shared memory; the sum wraps.", 64, 8, 128, 90, false, 256},
    {"wgmma.u8i8", 32, DType::kU8, DType::kI8, DType::kI32, 0, 0, 1, 0, 0, nullptr,
     "Tiles of unsigned by signed bytes in shared memory; the sum wraps.", 64, 8, 128, 90, false,
     256},
    {"wgmma.i8u8", 32, DType::kI8, DType::kU8, DType::kI32, 0, 0, 1, 0, 0, nullptr,
     "Tiles of signed by unsigned bytes in shared memory; the sum wraps.", 64, 8, 128, 90, false,
     256},
    {"wgmma.tf32", 8, DType::kF32, DType::kF32, DType::kF32, 0, 0, 1, 0, 0, "mma.tf32",
     "Tiles of floats in shared memory of which 10 bits of the fraction count, summed in f32.", 64,
     8, 128, 90, true, 256},
};

/// Chosen: widths of wgmma, of those that every type has. Some of them leave few columns idle
/// whatever the extent (not measured).
constexpr int kSideBySide[] = {8, 16, 32, 48, 64, 80, 96, 112, 128, 160, 192, 208, 224, 256};

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
  if (row.most_columns != 0) return target.sm == row.sm && target.ptx == 0;
  if (row.sm != 0 || target.is_cuda()) return row.sm != 0 && target.generation() >= row.sm;
  return has_all(target, row.isa) || (row.or_isa != 0 && has_all(target, row.or_isa));
}

std::string needs(const Instruction& row) {
  const std::string gpu = "cuda sm=" + std::to_string(row.sm);
  if (row.sm != 0) return row.most_columns != 0 ? gpu + " and no other" : gpu;
  std::string text = "isa=" + isa_text(row.isa);
  if (row.or_isa != 0) text += " or isa=" + isa_text(row.or_isa);
  return text;
}

std::span<const int> side_by_side() { return kSideBySide; }

bool takes_columns(const Instruction& row, int64_t columns) {
  if (row.most_columns == 0) return columns == row.columns;
  return std::find(std::begin(kSideBySide), std::end(kSideBySide), columns) !=
         std::end(kSideBySide);
}

int tile_rows(const Instruction& row, Operand operand) {
  return operand == Operand::kB ? row.columns : row.rows;
}

int tile_columns(const Instruction& row, Operand operand) {
  return operand == Operand::kResult ? row.columns : row.group;
}

std::vector<Axis> tile_axes(const Instruction& instruction, Operand operand, int row, int column) {
  // Every tile is made of cells of 8 rows by 4 words; a lane holds one word of each cell. A word is
  // 32 bits of a factor, two neighbours of a result.
  // Fixed by: mma.
  constexpr int kCellRows = 8, kCellWords = 4, kWarp = 32;
  const int rows = tile_rows(instruction, operand), columns = tile_columns(instruction, operand);
  const DType type = operand == Operand::kA ? instruction.a : instruction.b;
  const int word = operand == Operand::kResult ? 2 : std::max(1, 4 / size_of(type));
  const int warps = instruction.lanes / kWarp, own = rows / warps;
  const int cell = kCellWords * word;
  std::vector<Axis> axes{{row, rows}, {column, columns}};
  const auto add = [&](int dim, int div, int count) {
    if (count > 1) axes.push_back({dim, div, count});
  };
  add(column, cell, columns / cell);
  add(row, kCellRows, own / kCellRows);
  add(column, 1, word);
  add(row, own, warps);
  add(row, 1, kCellRows);
  add(column, word, kCellWords);
  return axes;
}

}  // namespace hone::ir
