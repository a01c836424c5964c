// SPDX-License-Identifier: Apache-2.0
// Lanes one by one through general registers, for what vectors cannot do.
#include <algorithm>

#include "jit/x86/select_context.h"

namespace hone::jit {

using ir::Op;

/// The lanes as 64-bit integers, sign- or zero-extended as their type says.
std::vector<Reg> Selector::lanes_to_gprs(const Value& v) {
  std::vector<Reg> regs;
  const int size = size_of(v.type);
  for (int i = 0; i < lanes_.count; ++i) {
    int within = 0;
    const Operand x = vreg(quarter_of(v, i, within), 16);
    Reg r;
    switch (size) {
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
    regs.push_back(is_float(v.type) ? r : wrapped(r, v.type));
  }
  return regs;
}

/// The low bytes of the registers as lanes.
Value Selector::gprs_to_lanes(const std::vector<Reg>& regs, DType type) {
  const int size = size_of(type);
  const size_t per = std::min<size_t>(16 / size, regs.size());
  const X86 insert = size == 8   ? X86::vpinsrq
                     : size == 4 ? X86::vpinsrd
                     : size == 2 ? X86::vpinsrw
                                 : X86::vpinsrb;
  const int gpr_width = size == 8 ? 8 : 4;
  std::vector<Reg> quarters;
  for (size_t q = 0; q < regs.size(); q += per) {
    Reg x = size == 8 ? code.define(RegClass::kVec, 16, X86::vmovq, {greg(regs[q])})
                      : code.define(RegClass::kVec, 16, X86::vmovd, {greg(regs[q], 4)});
    for (size_t i = 1; i < per; ++i) {
      x = code.define(RegClass::kVec, 16, insert,
                      {vreg(x, 16), greg(regs[q + i], gpr_width), imm(static_cast<int>(i))});
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
  const std::vector<Reg> x = lanes_to_gprs(a), y = lanes_to_gprs(b);
  std::vector<Reg> results;
  const X86 divide = op == Op::kDiv ? X86::floor_div : X86::floor_mod;
  for (size_t i = 0; i < x.size(); ++i) {
    results.push_back(code.define(RegClass::kGpr, 8, divide, {greg(x[i]), greg(y[i])}));
  }
  return gprs_to_lanes(results, a.type);
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
