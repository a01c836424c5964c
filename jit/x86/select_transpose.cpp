// SPDX-License-Identifier: Apache-2.0
// Register tiles read along the other axis than they were written: blocks of N x N elements go
// through one network of shuffles, emitted once until the tile changes.
#include <bit>

#include "jit/x86/select_context.h"

namespace hone::jit {

X86 interleave_of(int size, bool upper) {
  switch (size) {
    case 1:
      return upper ? X86::vpunpckhbw : X86::vpunpcklbw;
    case 2:
      return upper ? X86::vpunpckhwd : X86::vpunpcklwd;
    case 4:
      return upper ? X86::vunpckhps : X86::vunpcklps;
    default:
      return upper ? X86::vunpckhpd : X86::vunpcklpd;
  }
}

/// Rows to columns: column c holds element c of each row. As many rows as a row has elements.
/// Stage by stage, in pairs, so that hardly more registers are live than there are rows.
std::vector<Reg> Selector::transpose(std::vector<Reg> rows, int size, int width) {
  const int n = static_cast<int>(rows.size());
  const int per = 16 / size;
  const auto shuffle = [&](X86 op, Reg a, Reg b) {
    return code.define(RegClass::kVec, width, op, {vreg(a, width), vreg(b, width)});
  };
  // Within 16 bytes: after the stage of distance d, rows r and r+d hold the lower and the upper
  // halves of what they interleaved.
  for (int d = 1; d < per && d < n; d *= 2) {
    std::vector<Reg> next(rows.size());
    for (int r = 0; r < n; ++r) {
      if (r & d) continue;
      next[r] = shuffle(interleave_of(size * d, false), rows[r], rows[r + d]);
      next[r + d] = shuffle(interleave_of(size * d, true), rows[r], rows[r + d]);
    }
    rows = std::move(next);
  }
  // Row q*per + j' now holds, in its 16 bytes number b, column per*b + j of rows q*per..; j' has
  // the bits of j in reverse.
  const auto reversed = [&](int j) {
    int out = 0;
    for (int bit = 1; bit < per; bit *= 2) out = out * 2 + ((j & bit) != 0 ? 1 : 0);
    return out;
  };
  std::vector<Reg> columns(rows.size());
  for (int j = 0; j < per; ++j) {
    const int from = reversed(j);
    if (width == 16) {
      columns[j] = rows[from];
    } else if (width == 32) {
      exchange_halves(rows[from], rows[per + from], columns[j], columns[per + j]);
    } else {
      exchange_quarters(
          {rows[from], rows[per + from], rows[2 * per + from], rows[3 * per + from]},
          {&columns[j], &columns[per + j], &columns[2 * per + j], &columns[3 * per + j]});
    }
  }
  return columns;
}

void Selector::exchange_halves(Reg a, Reg b, Reg& low, Reg& high) {
  const X86 op = wide() ? X86::vshuff32x4 : X86::vperm2f128;
  const int lows = wide() ? 0 : 0x20, highs = wide() ? 3 : 0x31;
  low = code.define(RegClass::kVec, 32, op, {vreg(a, 32), vreg(b, 32), imm(lows)});
  high = code.define(RegClass::kVec, 32, op, {vreg(a, 32), vreg(b, 32), imm(highs)});
}

void Selector::exchange_quarters(const std::array<Reg, 4>& in, const std::array<Reg*, 4>& out) {
  constexpr int kEven = 0x88, kOdd = 0xdd;
  const auto pick = [&](Reg a, Reg b, int which) {
    return code.define(RegClass::kVec, 64, X86::vshuff32x4, {vreg(a, 64), vreg(b, 64), imm(which)});
  };
  const Reg even01 = pick(in[0], in[1], kEven), odd01 = pick(in[0], in[1], kOdd);
  const Reg even23 = pick(in[2], in[3], kEven), odd23 = pick(in[2], in[3], kOdd);
  *out[0] = pick(even01, even23, kEven);
  *out[2] = pick(even01, even23, kOdd);
  *out[1] = pick(odd01, odd23, kEven);
  *out[3] = pick(odd01, odd23, kOdd);
}

/// Elements first, first + stride, ... of a tile, one a lane.
Value Selector::load_tile_across(int buffer, int64_t first, int64_t stride) {
  const DType type = element_type(buffer);
  const int size = size_of(type), n = lanes_.count;
  const TileGroup* group = tile_group(buffer, first);
  const int64_t column = first - group->offset;
  // All lanes from the same column of groups of as many lanes as there are rows?
  bool square = stride > 0 && group->lanes == n && n * size >= 16 && lanes_.active > 0;
  for (int i = 1; i < lanes_.active && square; ++i) {
    const TileGroup* row = tile_group(buffer, first + i * stride);
    square = row != nullptr && row->lanes == n && row->offset == group->offset + i * stride;
  }
  if (!square) return gather_tile(buffer, first, stride);
  const int64_t block = group->offset;
  for (const Transposed& t : transposed_) {
    if (t.buffer == buffer && t.first == block && t.stride == stride && t.rows == lanes_.active &&
        t.scope == code.scope_number()) {
      return {t.columns[column], type, size};
    }
  }
  std::vector<Reg> rows;
  for (int i = 0; i < n; ++i) {
    rows.push_back(i < lanes_.active ? tile_group(buffer, block + i * stride)->reg
                                     : constant_bits(DType::kI32, 0).reg);
  }
  transposed_.push_back({buffer, block, stride, lanes_.active, code.scope_number(),
                         transpose(std::move(rows), size, width(type))});
  return {transposed_.back().columns[column], type, size};
}

}  // namespace hone::jit
