// SPDX-License-Identifier: Apache-2.0
#include "jit/x86/select/vectors.h"

#include <algorithm>

#include "jit/x86/select/by_size.h"

namespace hone::jit {

Value Vectors::constant_bits(DType type, uint64_t bits) {
  const int size = size_of(type);
  if (size < 8) bits &= (uint64_t{1} << (8 * size)) - 1;
  if (bits == 0) {
    const Reg zero =
        code_.sequence(RegClass::kVec, 16, Sequence::kZero, {}, [&](CodeList& list, Reg r) {
          code_.append(list, X86::vxorps, {vreg(r, 16), vreg(r, 16), vreg(r, 16)});
        });
    return {zero, type, size};
  }
  const int32_t at = code_.pool(&bits, size);
  const int w = width(type);
  return {code_.load_pool(w, broadcast_of(size, w), at), type, size};
}

Value Vectors::splat(Reg r, DType type) {
  const int size = size_of(type);
  const int w = width(type);
  const Reg low = size == 8 ? code_.define(RegClass::kVec, 16, X86::vmovq, {greg(r, 8)})
                            : code_.define(RegClass::kVec, 16, X86::vmovd, {greg(r, 4)});
  if (lanes_.count == 1) return {low, type, size};
  const X86 op = size == 1   ? X86::vpbroadcastb
                 : size == 2 ? X86::vpbroadcastw
                 : size == 4 ? X86::vpbroadcastd
                             : X86::vpbroadcastq;
  return {code_.define(RegClass::kVec, w, op, {vreg(low, 16)}), type, size};
}

Value Vectors::op2(X86 op, const Value& v, DType to) {
  return {code_.define(RegClass::kVec, width(to), op, {vreg(v.reg, width(v.type))}), to,
          size_of(to)};
}

Value Vectors::op3(X86 op, const Value& a, const Value& b) {
  const int w = width(a.type);
  return {code_.define(RegClass::kVec, w, op, {vreg(a.reg, w), vreg(b.reg, w)}), a.type,
          size_of(a.type)};
}

Reg Vectors::quarter_of(const Value& v, int i, int& within) {
  const int per = 16 / size_of(v.type);
  const int w = width(v.type);
  within = i % per;
  if (i < per) return v.reg;
  const X86 op = w == 64 ? X86::vextractf32x4 : X86::vextractf128;
  return code_.define(RegClass::kVec, 16, op, {vreg(v.reg, w), imm(i / per)});
}

Reg Vectors::lane_to_gpr(const Value& v, int lane) {
  int within = 0;
  const Operand x = vreg(quarter_of(v, lane, within), 16);
  Reg r;
  switch (size_of(v.type)) {
    case 8:
      r = within == 0 ? code_.define(RegClass::kGpr, 8, X86::vmovq, {x})
                      : code_.define(RegClass::kGpr, 8, X86::vpextrq, {x, imm(within)});
      break;
    case 4:
      r = code_.define(RegClass::kGpr, 4, X86::vpextrd, {x, imm(within)});
      break;
    case 2:
      r = code_.define(RegClass::kGpr, 4, X86::vpextrw, {x, imm(within)});
      break;
    default:
      r = code_.define(RegClass::kGpr, 4, X86::vpextrb, {x, imm(within)});
      break;
  }
  return is_float(v.type) ? r : general_.wrapped(r, v.type);
}

Value Vectors::gprs_to_lanes(DType type, const std::function<Reg(int)>& lane_of) {
  const int size = size_of(type), count = lanes_.count;
  const int per = std::min(16 / size, count);
  const X86 insert = size == 8   ? X86::vpinsrq
                     : size == 4 ? X86::vpinsrd
                     : size == 2 ? X86::vpinsrw
                                 : X86::vpinsrb;
  const int gpr_width = size == 8 ? 8 : 4;
  std::vector<Reg> quarters;
  for (int q = 0; q < count; q += per) {
    const Reg first = lane_of(q);
    Reg x = size == 8 ? code_.define(RegClass::kVec, 16, X86::vmovq, {greg(first)})
                      : code_.define(RegClass::kVec, 16, X86::vmovd, {greg(first, 4)});
    for (int i = 1; i < per; ++i) {
      const Reg next = lane_of(q + i);
      x = code_.define(RegClass::kVec, 16, insert, {vreg(x, 16), greg(next, gpr_width), imm(i)});
    }
    quarters.push_back(x);
  }
  Reg all = quarters[0];
  const int w = width(type);
  for (size_t q = 1; q < quarters.size(); ++q) {
    all = code_.define(RegClass::kVec, w, w == 64 ? X86::vinserti32x4 : X86::vinserti128,
                       {vreg(all, w), vreg(quarters[q], 16), imm(static_cast<int>(q))});
  }
  return {all, type, size};
}

Value Vectors::upper_half(const Value& v) {
  const auto x = [&](X86 op, int w, int number) {
    return Value{code_.define(RegClass::kVec, w, op, {vreg(v.reg, w), imm(number)}), v.type,
                 v.element};
  };
  const auto half = [&](X86 op, int w) {
    return Value{code_.define(RegClass::kVec, w, op, {vreg(v.reg, 2 * w), imm(1)}), v.type,
                 v.element};
  };
  // Fixed by: x86.
  constexpr int kHighPair = 0xee, kSecond = 0x55;
  switch (lanes_.count * size_of(v.type) / 2) {
    case 32:
      return half(X86::vextractf64x4, 32);
    case 16:
      return half(X86::vextractf128, 16);
    case 8:
      return x(X86::vpshufd, 16, kHighPair);
    case 4:
      return x(X86::vpshufd, 16, kSecond);
    case 2:
      return x(X86::vpsrld, 16, 16);
    default:
      return x(X86::vpsrlw, 16, 8);
  }
}

Value Vectors::joined(const Value& low, const Value& high) {
  const int half = lanes_.count * size_of(low.type) / 2, w = width(low.type);
  if (half < 16) {
    return {code_.define(RegClass::kVec, w, interleave_of(half, false),
                         {vreg(low.reg, w), vreg(high.reg, w)}),
            low.type, low.element};
  }
  const X86 op = half == 32 ? X86::vinserti64x4 : X86::vinserti128;
  return {code_.define(RegClass::kVec, w, op, {vreg(low.reg, w), vreg(high.reg, half), imm(1)}),
          low.type, low.element};
}

void Vectors::insert_broadcast(Reg reg, int i, Reg all, DType type) {
  const int w = width(type), size = size_of(type);
  if (size >= 4) {
    code_.emit(size == 4 ? X86::vblendps : X86::vblendpd,
               {vreg(reg, w), vreg(reg, w), vreg(all, w), imm(1 << i)});
    return;
  }
  std::vector<uint8_t> mask(w, 0);
  for (int b = 0; b < size; ++b) mask[i * size + b] = 0xff;
  const Reg chosen = code_.load_pool(w, X86::vmovups, code_.pool(mask.data(), w));
  code_.emit(X86::vpblendvb, {vreg(reg, w), vreg(reg, w), vreg(all, w), vreg(chosen, w)});
}

void Vectors::insert_element(Reg reg, int i, const Mem& m, DType type) {
  const int w = width(type), size = size_of(type);
  const X86 op = size == 1   ? X86::vpbroadcastb
                 : size == 2 ? X86::vpbroadcastw
                 : size == 4 ? X86::vbroadcastss
                 : w == 16   ? X86::vmovddup
                             : X86::vbroadcastsd;
  if (wide()) {
    const Reg bit = code_.define(RegClass::kMask, 8, X86::kmovq,
                                 {greg(constant_gpr(static_cast<int64_t>(uint64_t{1} << i)))});
    code_.emit(op, {vreg(reg, w), mem(m)}, bit);
    return;
  }
  const Reg all = code_.make(RegClass::kVec);
  code_.emit(op, {vreg(all, w), mem(m)});
  insert_broadcast(reg, i, all, type);
}

void Vectors::set_lane(Reg reg, int lane, const Value& v) {
  const int w = width(v.type), size = size_of(v.type);
  if (wide()) {
    const Reg bit = code_.define(RegClass::kMask, 8, X86::kmovq,
                                 {greg(constant_gpr(static_cast<int64_t>(uint64_t{1} << lane)))});
    code_.emit(broadcast_of(size, w), {vreg(reg, w), vreg(v.reg, 16)}, bit);
    return;
  }
  const Reg all = code_.define(RegClass::kVec, w, broadcast_of(size, w), {vreg(v.reg, 16)});
  insert_broadcast(reg, lane, all, v.type);
}

void Vectors::store_lane(const Mem& m, const Value& v, int i) {
  int within = 0;
  const Operand x = vreg(quarter_of(v, i, within), 16);
  switch (size_of(v.type)) {
    case 1:
      code_.emit(X86::vpextrb, {mem(m), x, imm(within)});
      return;
    case 2:
      code_.emit(X86::vpextrw, {mem(m), x, imm(within)});
      return;
    case 4:
      if (within == 0) {
        code_.emit(X86::vmovss, {mem(m), x});
      } else {
        code_.emit(X86::vpextrd, {mem(m), x, imm(within)});
      }
      return;
    default:
      if (within == 0) {
        code_.emit(X86::vmovsd, {mem(m), x});
      } else {
        code_.emit(X86::vmovhpd, {mem(m), x});
      }
  }
}

void Vectors::store_lanes(const Mem& m, Reg reg, int bytes) {
  switch (bytes) {
    case 1:
      code_.emit(X86::vpextrb, {mem(m), vreg(reg, 16), imm(0)});
      return;
    case 2:
      code_.emit(X86::vpextrw, {mem(m), vreg(reg, 16), imm(0)});
      return;
    case 4:
      code_.emit(X86::vmovss, {mem(m), vreg(reg, 16)});
      return;
    case 8:
      code_.emit(X86::vmovsd, {mem(m), vreg(reg, 16)});
      return;
    default:
      code_.emit(X86::vmovups, {mem(m), vreg(reg, bytes)});
      return;
  }
}

}  // namespace hone::jit
