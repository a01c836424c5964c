// SPDX-License-Identifier: Apache-2.0
#include "jit/x86/select/tables.h"

#include <algorithm>
#include <optional>

#include "jit/ir/integers.h"
#include "jit/ir/short_value.h"

namespace hone::jit {

using ir::Op;

namespace {

/// Registers that a table may take: further ones are a choice each.
/// Tuned on: Zen 5 (AVX-512).
constexpr int64_t kMostRegisters = 4;
/// Pieces of 16 bytes that a table may have on AVX2, where each is a shuffle and a choice.
/// Tuned on: Zen 5 (AVX2).
constexpr int64_t kMostSixteens = 16;
/// Bytes within which a shuffle moves any byte.
/// Fixed by: x86.
constexpr int kSixteen = 16;

/// The type of integers that takes the place of elements of `size` bytes.
DType number_type(int size) {
  return size == 8 ? DType::kI64 : size == 4 ? DType::kI32 : size == 2 ? DType::kI16 : DType::kU8;
}

/// Integers that take the place of the numbers of a table's elements of `size` bytes.
DType number_type(int size, int64_t least) {
  return size == 1 && least < 0 ? DType::kI8 : number_type(size);
}

}  // namespace

bool Tables::may_hold(const ir::NestBuffer& buffer, const ir::Target& target) {
  int64_t elements = 0;
  if (buffer.home == ir::Home::kRegisters || !ir::is_const(buffer.elements, &elements))
    return false;
  const int size = size_of(buffer.type);
  const bool bytes = size < 4;
  const int64_t most = bytes ? kMostSixteens * kSixteen : kMostRegisters * target.vector_bytes();
  return elements <= most / size;
}

bool Tables::find(int buffer, const ir::Expr& index, Entries& out) {
  const LaneSum sum = indices_.split(index);
  int64_t elements = 0, least = 0, most = 0;
  if (!sum.apart || !ir::is_const(nest_.buffers[buffer].elements, &elements)) return false;
  const auto position = ir::narrowest(sum.apart);
  if (!position) return false;
  const Affine first = sum.same ? indices_.affine(sum.same) : Affine();
  if (!indices_.range_of(first, least, most)) return false;
  auto [lo, hi] = position->range;
  // Elements exist: positions that leave the buffer do not occur.
  if (least == most) {
    lo = std::max(lo, -first.constant);
    hi = std::min(hi, elements - 1 - first.constant);
  }
  if (lo > hi || least + lo < 0 || most + hi >= elements) return false;
  if (size_of(position->e->type) * lanes_.count > target_.vector_bytes()) return false;
  out = {buffer, first + Affine::of(lo), lo, hi - lo + 1, position->e};
  return true;
}

Reg Tables::constant(DType type, uint64_t bits) {
  const Lanes outer = lanes_;
  lanes_.count = target_.vector_bytes() / size_of(type);
  const Reg reg = vectors_.constant_bits(type, bits).reg;
  lanes_ = outer;
  return reg;
}

Reg Tables::numbers(const Entries& e, int size) {
  const DType type = number_type(size, e.least);
  const bool as_it_is = is_int(e.position->type) && size_of(e.position->type) == size;
  ir::Expr number = as_it_is ? e.position : ir::make_cast(type, e.position);
  const auto varies = [&](const ir::Expr& x) { return indices_.depends_on_lane(x); };
  if (const ir::Expr narrow = ir::short_value(number, varies); narrow) number = narrow;
  const Value v = value(number);
  if (e.least == 0) return v.reg;
  const X86 subtract = size == 8   ? X86::vpsubq
                       : size == 4 ? X86::vpsubd
                       : size == 2 ? X86::vpsubw
                                   : X86::vpsubb;
  const Value least = vectors_.constant_bits(number_type(size), static_cast<uint64_t>(e.least));
  return vectors_.op3(subtract, {v.reg, number_type(size), size}, least).reg;
}

std::vector<Reg> Tables::registers(const Entries& e, int bytes) {
  const int64_t per = bytes / size_of(element_type(e.buffer));
  std::vector<Reg> out;
  for (int64_t at = 0; at < e.count; at += per) {
    const auto rest = static_cast<int>(std::min(per, e.count - at));
    out.push_back(spreads_.exactly(e.buffer, e.first + Affine::of(at),
                                   rest * size_of(element_type(e.buffer))));
    if (!out.back().valid()) return {};
  }
  return out;
}

std::vector<Reg> Tables::sixteens(const Entries& e) {
  const int size = size_of(element_type(e.buffer)), all = static_cast<int>(e.count) * size;
  const int w = target_.vector_bytes(), last = std::max(0, all - kSixteen);
  std::vector<Reg> out;
  for (int at = 0; at < all; at += kSixteen) {
    // The last piece ends with the table: what lies before its own bytes is shifted out.
    const int from = std::min(at, last);
    const Affine first = e.first + Affine::of(from / size);
    if (from == at && all >= kSixteen) {
      out.push_back(spreads_.repeated(e.buffer, first, w));
      continue;
    }
    Reg piece = spreads_.exactly(e.buffer, first, std::min(kSixteen, all));
    if (!piece.valid()) return {};
    if (from != at) {
      piece = code_.define(RegClass::kVec, kSixteen, X86::vpsrldq,
                           {vreg(piece, kSixteen), imm(at - from)});
    }
    out.push_back(spreads_.repeated(piece, w));
  }
  return out;
}

Reg Tables::wide_elements(const std::vector<Reg>& table, Reg numbers, int size) {
  constexpr int w = 64;  // Fixed by: AVX-512.
  const X86 one = size == 8 ? X86::vpermpd : size == 4 ? X86::vpermps : X86::vpermw;
  const X86 two = size == 8 ? X86::vpermi2pd : size == 4 ? X86::vpermi2ps : X86::vpermi2w;
  const X86 test = size == 8 ? X86::vptestmq : size == 4 ? X86::vptestmd : X86::vptestmw;
  const X86 move = size == 8 ? X86::vmovupd : size == 4 ? X86::vmovups : X86::vmovdqu16;
  if (table.size() == 1) {
    return code_.define(RegClass::kVec, w, one, {vreg(numbers, w), vreg(table[0], w)});
  }
  const auto pair = [&](size_t first) {
    const Reg second = table[std::min(first + 1, table.size() - 1)];
    return code_.update(RegClass::kVec, w, numbers, two, {vreg(table[first], w), vreg(second, w)});
  };
  const Reg low = pair(0);
  if (table.size() == 2) return low;
  const int per = w / size;
  const Reg bit = constant(number_type(size), static_cast<uint64_t>(2 * per));
  const Reg upper = code_.define(RegClass::kMask, w, test, {vreg(numbers, w), vreg(bit, w)});
  return code_.update(RegClass::kVec, w, low, move, {vreg(pair(2), w)}, upper);
}

Reg Tables::wide_bytes(const std::vector<Reg>& table, Reg numbers) {
  constexpr int w = 64, byte = 8;  // Fixed by: AVX-512.
  constexpr uint64_t odd_bytes = 0xaaaaaaaaaaaaaaaa;
  const auto op = [&](X86 x, Reg a, const Operand& b) {
    return code_.define(RegClass::kVec, w, x, {vreg(a, w), b});
  };
  const auto word = [&](uint64_t bits) { return vreg(constant(DType::kI16, bits), w); };
  // Byte n of the table is in the upper half of word n/2 where n is odd. Results of even lanes are
  // shifted down from there, those of odd lanes are shifted up from the lower half.
  const Reg of_even = op(X86::vandps, op(X86::vpsrlw, numbers, imm(1)), word(0x7f));
  const Reg of_odd = op(X86::vpsrlw, numbers, imm(byte + 1));
  const Reg down = op(X86::vandps, op(X86::vpsllw, numbers, imm(3)), word(byte));
  const Reg eights = op(X86::vpsrlw, numbers, imm(byte - 3));
  const Reg up = code_.define(RegClass::kVec, w, X86::vpandnd, {vreg(eights, w), word(byte)});
  const Reg even = op(X86::vpsrlvw, wide_elements(table, of_even, 2), vreg(down, w));
  const Reg odd = op(X86::vpsllvw, wide_elements(table, of_odd, 2), vreg(up, w));
  const Reg mask = code_.define(RegClass::kMask, 8, X86::kmovq,
                                {greg(constant_gpr(static_cast<int64_t>(odd_bytes)))});
  return code_.update(RegClass::kVec, w, even, X86::vmovdqu8, {vreg(odd, w)}, mask);
}

Reg Tables::floats(const std::vector<Reg>& table, Reg numbers) {
  constexpr int w = 32, eights = 28;  // Fixed by: AVX2; bit 3 of 32, moved to the sign.
  const auto looked_up = [&](size_t i) {
    return code_.define(RegClass::kVec, w, X86::vpermps, {vreg(numbers, w), vreg(table[i], w)});
  };
  const auto chosen = [&](Reg low, Reg high, int bits) {
    const Reg sign = code_.define(RegClass::kVec, w, X86::vpslld, {vreg(numbers, w), imm(bits)});
    return code_.define(RegClass::kVec, w, X86::vblendvps,
                        {vreg(low, w), vreg(high, w), vreg(sign, w)});
  };
  const auto pair = [&](size_t i) {
    return i + 1 < table.size() ? chosen(looked_up(i), looked_up(i + 1), eights) : looked_up(i);
  };
  return table.size() > 2 ? chosen(pair(0), pair(2), eights - 1) : pair(0);
}

Reg Tables::bytes(const std::vector<Reg>& table, Reg numbers) {
  const int w = target_.vector_bytes();
  const auto within = [&](size_t piece, Reg number) {
    return code_.define(RegClass::kVec, w, X86::vpshufb, {vreg(table[piece], w), vreg(number, w)});
  };
  if (table.size() == 1) return within(0, numbers);
  // Fixed by: x86. A shuffle looks at four bits and the top one, a blend at the top one.
  constexpr uint64_t kFourBits = 0x0f;
  constexpr int kBelowTop = 3;
  const Reg low = code_.define(RegClass::kVec, w, X86::vandps,
                               {vreg(numbers, w), vreg(constant(DType::kU8, kFourBits), w)});
  std::vector<Reg> found;
  for (size_t i = 0; i < table.size(); ++i) found.push_back(within(i, low));
  for (int bit = 0; found.size() > 1; ++bit) {
    const Reg top =
        code_.define(RegClass::kVec, w, X86::vpsllw, {vreg(numbers, w), imm(kBelowTop - bit)});
    std::vector<Reg> chosen;
    for (size_t i = 0; i + 1 < found.size(); i += 2) {
      chosen.push_back(code_.define(RegClass::kVec, w, X86::vpblendvb,
                                    {vreg(found[i], w), vreg(found[i + 1], w), vreg(top, w)}));
    }
    if (found.size() % 2 == 1) chosen.push_back(found.back());
    found = std::move(chosen);
  }
  return found[0];
}

Reg Tables::numbers_of_bytes(Reg numbers) {
  const int w = target_.vector_bytes();
  const auto op = [&](X86 x, Reg a, Reg b) {
    return code_.define(RegClass::kVec, w, x, {vreg(a, w), vreg(b, w)});
  };
  // Fixed by: elements of two bytes.
  constexpr uint64_t kTwice = 0x0202, kSecond = 0x0100;
  return op(X86::vpaddw, op(X86::vpmullw, numbers, constant(DType::kI16, kTwice)),
            constant(DType::kI16, kSecond));
}

bool Tables::load(int buffer, const ir::Expr& index, Value& out) {
  Entries e;
  if (lanes_.count == 1 || nest_.buffers[buffer].home == ir::Home::kRegisters) return false;
  if (!find(buffer, index, e)) return false;
  const DType type = element_type(buffer);
  const int size = size_of(type), w = target_.vector_bytes();
  const ir::IntegerRange positions{e.least, e.least + e.count - 1};
  if (!positions.lies_in(*ir::range_of(number_type(size, e.least)))) return false;
  // One piece serves lanes of bytes best, on AVX-512 as well.
  const bool in_pieces = size == 1 ? !wide() || e.count <= kSixteen : size == 2 && !wide();
  if (!wide() && size == 8) return false;
  const int64_t most = in_pieces ? kMostSixteens * kSixteen : kMostRegisters * w;
  if (e.count * size > most) return false;
  const std::vector<Reg> table = in_pieces ? sixteens(e) : registers(e, w);
  if (table.empty()) return false;
  const Reg numbers = this->numbers(e, size);
  Reg found;
  if (in_pieces) {
    found = bytes(table, size == 2 ? numbers_of_bytes(numbers) : numbers);
  } else if (wide()) {
    found = size == 1 ? wide_bytes(table, numbers) : wide_elements(table, numbers, size);
  } else {
    found = floats(table, numbers);
  }
  out = {found, type, size};
  return true;
}

}  // namespace hone::jit
