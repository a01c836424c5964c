// SPDX-License-Identifier: Apache-2.0
#include "jit/x86/select/transposes.h"

#include <utility>

#include "jit/x86/select/by_size.h"

namespace hone::jit {

const std::vector<Reg>* Transposes::find(const Block& block) const {
  for (const Transposed& t : transposed_) {
    if (t.block == block && t.scope == code_.scope_number()) return &t.columns;
  }
  return nullptr;
}

const std::vector<Reg>& Transposes::keep(const Block& block, std::vector<Reg> rows, int size,
                                         int width) {
  transposed_.push_back({block, code_.scope_number(), transpose(std::move(rows), size, width)});
  return transposed_.back().columns;
}

void Transposes::forget(int buffer) {
  std::erase_if(transposed_, [&](const Transposed& t) { return t.block.buffer == buffer; });
}

std::vector<Reg> Transposes::transpose(std::vector<Reg> rows, int size, int width) {
  const int n = static_cast<int>(rows.size());
  const int per = 16 / size;
  const auto shuffle = [&](X86 op, Reg a, Reg b) {
    return code_.define(RegClass::kVec, width, op, {vreg(a, width), vreg(b, width)});
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
  // Row q*per + j' now holds, in its 16 bytes number b, column per*b + j of the rows from q*per on.
  // Here j' has the bits of j in reverse.
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

void Transposes::exchange_halves(Reg a, Reg b, Reg& low, Reg& high) {
  const X86 op = wide() ? X86::vshuff32x4 : X86::vperm2f128;
  const int lows = wide() ? 0 : 0x20, highs = wide() ? 3 : 0x31;
  low = code_.define(RegClass::kVec, 32, op, {vreg(a, 32), vreg(b, 32), imm(lows)});
  high = code_.define(RegClass::kVec, 32, op, {vreg(a, 32), vreg(b, 32), imm(highs)});
}

void Transposes::exchange_quarters(const std::array<Reg, 4>& in, const std::array<Reg*, 4>& out) {
  // Fixed by: x86.
  constexpr int kEven = 0x88, kOdd = 0xdd;
  const auto pick = [&](Reg a, Reg b, int which) {
    return code_.define(RegClass::kVec, 64, X86::vshuff32x4,
                        {vreg(a, 64), vreg(b, 64), imm(which)});
  };
  const Reg even01 = pick(in[0], in[1], kEven), odd01 = pick(in[0], in[1], kOdd);
  const Reg even23 = pick(in[2], in[3], kEven), odd23 = pick(in[2], in[3], kOdd);
  *out[0] = pick(even01, even23, kEven);
  *out[2] = pick(even01, even23, kOdd);
  *out[1] = pick(odd01, odd23, kEven);
  *out[3] = pick(odd01, odd23, kOdd);
}

}  // namespace hone::jit
