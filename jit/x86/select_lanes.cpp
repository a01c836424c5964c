// SPDX-License-Identifier: Apache-2.0
// Lanes one by one through general registers, for what vectors cannot do.
#include <algorithm>
#include <bit>

#include "jit/x86/select_context.h"

namespace hone::jit {

using ir::Op;

/// A lane as a 64-bit integer, sign- or zero-extended as its type says.
Reg Selector::lane_to_gpr(const Value& v, int lane) {
  int within = 0;
  const Operand x = vreg(quarter_of(v, lane, within), 16);
  Reg r;
  switch (size_of(v.type)) {
    case 8:
      r = within == 0 ? code.define(RegClass::kGpr, 8, X86::vmovq, {x})
                      : code.define(RegClass::kGpr, 8, X86::vpextrq, {x, imm(within)});
      break;
    case 4:
      r = code.define(RegClass::kGpr, 4, X86::vpextrd, {x, imm(within)});
      break;
    case 2:
      r = code.define(RegClass::kGpr, 4, X86::vpextrw, {x, imm(within)});
      break;
    default:
      r = code.define(RegClass::kGpr, 4, X86::vpextrb, {x, imm(within)});
      break;
  }
  return is_float(v.type) ? r : wrapped(r, v.type);
}

/// The low bytes of registers as lanes; `lane_of` makes one at a time, so that few live at once.
Value Selector::gprs_to_lanes(DType type, const std::function<Reg(int)>& lane_of) {
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
    Reg x = size == 8 ? code.define(RegClass::kVec, 16, X86::vmovq, {greg(first)})
                      : code.define(RegClass::kVec, 16, X86::vmovd, {greg(first, 4)});
    for (int i = 1; i < per; ++i) {
      const Reg next = lane_of(q + i);
      x = code.define(RegClass::kVec, 16, insert, {vreg(x, 16), greg(next, gpr_width), imm(i)});
    }
    quarters.push_back(x);
  }
  Reg all = quarters[0];
  const int w = width(type);
  for (size_t q = 1; q < quarters.size(); ++q) {
    all = code.define(RegClass::kVec, w, w == 64 ? X86::vinserti32x4 : X86::vinserti128,
                      {vreg(all, w), vreg(quarters[q], 16), imm(static_cast<int>(q))});
  }
  return {all, type, size};
}

Value Selector::divide(Op op, const Value& a, const Value& b) {
  const Pseudo divide = op == Op::kDiv ? Pseudo::floor_div : Pseudo::floor_mod;
  return gprs_to_lanes(a.type, [&](int i) {
    const Reg x = lane_to_gpr(a, i), y = lane_to_gpr(b, i);
    return code.define(RegClass::kGpr, 8, divide, {greg(x), greg(y)});
  });
}

/// Floor division by 2^power, or its remainder, which are a shift and a mask.
Value Selector::divide_by_power(Op op, const Value& a, int power) {
  if (failed()) return {};
  const int size = size_of(a.type), w = width(a.type);
  if (op == Op::kMod) {
    return op3(X86::vandps, a, constant_bits(a.type, (uint64_t{1} << power) - 1));
  }
  if (power == 0) return a;
  const auto shifted = [&](X86 x) {
    return Value{code.define(RegClass::kVec, w, x, {vreg(a.reg, w), imm(power)}), a.type, size};
  };
  if (size == 2) return shifted(X86::vpsraw);
  if (size == 4) return shifted(X86::vpsrad);
  if (size == 8 && wide()) return shifted(X86::vpsraq);
  // Without an arithmetic shift: a logical one, and the sign extended from where it is now.
  Value logical = shifted(size == 8 ? X86::vpsrlq : X86::vpsrlw);
  if (size == 1) logical = op3(X86::vandps, logical, constant_bits(a.type, 0xffu >> power));
  if (a.type == DType::kU8) return logical;
  const Value sign = constant_bits(a.type, uint64_t{1} << (8 * size - 1 - power));
  return op3(size == 8 ? X86::vpsubq : X86::vpsubb, op3(X86::vxorps, logical, sign), sign);
}

/// Bytes have no product: even and odd ones by 16-bit products.
Value Selector::multiply_bytes(const Value& a, const Value& b) {
  const int w = width(a.type);
  const auto def = [&](X86 op, Reg x, Operand y) {
    return code.define(RegClass::kVec, w, op, {vreg(x, w), y});
  };
  const Reg even = def(X86::vpmullw, a.reg, vreg(b.reg, w));
  const Reg odd =
      def(X86::vpmullw, def(X86::vpsrlw, a.reg, imm(8)), vreg(def(X86::vpsrlw, b.reg, imm(8)), w));
  const Reg high = def(X86::vpsllw, odd, imm(8));
  const Reg low = def(X86::vpsrlw, def(X86::vpsllw, even, imm(8)), imm(8));
  return {def(X86::vorps, low, vreg(high, w)), a.type, 1};
}

/// AVX2: 64-bit products from 32-bit ones.
Value Selector::multiply_quads(const Value& a, const Value& b) {
  const int w = width(a.type);
  const auto def = [&](X86 op, Reg x, Operand y) {
    return code.define(RegClass::kVec, w, op, {vreg(x, w), y});
  };
  const Reg low = def(X86::vpmuludq, a.reg, vreg(b.reg, w));
  const Reg cross1 = def(X86::vpmuludq, def(X86::vpsrlq, a.reg, imm(32)), vreg(b.reg, w));
  const Reg cross2 = def(X86::vpmuludq, def(X86::vpsrlq, b.reg, imm(32)), vreg(a.reg, w));
  const Reg cross = def(X86::vpsllq, def(X86::vpaddq, cross1, vreg(cross2, w)), imm(32));
  return {def(X86::vpaddq, low, vreg(cross, w)), a.type, 8};
}

}  // namespace hone::jit
