// SPDX-License-Identifier: Apache-2.0
#include "jit/x86/select/arithmetic.h"

#include <string>

namespace hone::jit {

using ir::Op;

namespace {

constexpr X86 kNothing = X86::after_last;

/// The instruction that does `op` on lanes of `type`, or kNothing where there is none.
X86 instruction_of(Op op, DType type, bool wide) {
  const bool eight = size_of(type) == 8;
  if (op == Op::kBitAnd) return X86::vandps;
  if (op == Op::kBitOr) return X86::vorps;
  if (op == Op::kBitXor) return X86::vxorps;
  switch (type) {
    case DType::kF32:
      return op == Op::kAdd   ? X86::vaddps
             : op == Op::kSub ? X86::vsubps
             : op == Op::kMul ? X86::vmulps
             : op == Op::kDiv ? X86::vdivps
                              : kNothing;
    case DType::kF64:
      return op == Op::kAdd   ? X86::vaddpd
             : op == Op::kSub ? X86::vsubpd
             : op == Op::kMul ? X86::vmulpd
             : op == Op::kDiv ? X86::vdivpd
                              : kNothing;
    case DType::kI64:
    case DType::kI32:
      switch (op) {
        case Op::kAdd:
          return eight ? X86::vpaddq : X86::vpaddd;
        case Op::kSub:
          return eight ? X86::vpsubq : X86::vpsubd;
        case Op::kMul:
          return !eight ? X86::vpmulld : wide ? X86::vpmullq : kNothing;
        case Op::kMin:
          return !eight ? X86::vpminsd : wide ? X86::vpminsq : kNothing;
        case Op::kMax:
          return !eight ? X86::vpmaxsd : wide ? X86::vpmaxsq : kNothing;
        case Op::kShl:
          return eight ? X86::vpsllvq : X86::vpsllvd;
        case Op::kShr:
          return !eight ? X86::vpsravd : wide ? X86::vpsravq : kNothing;
        default:
          return kNothing;
      }
    case DType::kI16:
      return op == Op::kAdd   ? X86::vpaddw
             : op == Op::kSub ? X86::vpsubw
             : op == Op::kMul ? X86::vpmullw
             : op == Op::kMin ? X86::vpminsw
             : op == Op::kMax ? X86::vpmaxsw
                              : kNothing;
    case DType::kI8:
    case DType::kU8: {
      const bool is_signed = type == DType::kI8;
      return op == Op::kAdd   ? X86::vpaddb
             : op == Op::kSub ? X86::vpsubb
             : op == Op::kMin ? (is_signed ? X86::vpminsb : X86::vpminub)
             : op == Op::kMax ? (is_signed ? X86::vpmaxsb : X86::vpmaxub)
                              : kNothing;
    }
    default:
      return kNothing;
  }
}

}  // namespace

Value LaneArithmetic::apply(Op op, const Value& a, const Value& b) {
  if (a.type == DType::kBool)
    return masks_.logic(op == Op::kMin || op == Op::kMul ? Op::kAnd : Op::kOr, a, b);
  if (is_float(a.type) && (op == Op::kMin || op == Op::kMax))
    return extreme(op, a, b, false, false);
  if (is_narrow_float(a.type)) {
    return converter_.converted(apply(op, converter_.to_single(a), converter_.to_single(b)),
                                a.type);
  }
  const X86 x = instruction_of(op, a.type, wide());
  if (x != kNothing) return vectors_.op3(x, a, b);
  if (op == Op::kMul && size_of(a.type) == 1) return multiply_bytes(a, b);
  if (op == Op::kMul && size_of(a.type) == 8) return multiply_quads(a, b);
  if (op == Op::kShr && size_of(a.type) == 8) return shift_quads(a, b);
  if (op == Op::kMin || op == Op::kMax) {
    const Value less = vectors_.op3(X86::vpcmpgtq, b, a);
    const Value mask{less.reg, DType::kBool, 8};
    return op == Op::kMin ? masks_.blend(mask, a, b) : masks_.blend(mask, b, a);
  }
  refuse(std::string("there is no vector form of this operation on ") +
         std::string(name_of(a.type)));
}

Value LaneArithmetic::compared(Op op, const Value& a, const Value& b) {
  if (!is_narrow_float(a.type)) return masks_.compare(op, a, b);
  return masks_.compare(op, converter_.to_single(a), converter_.to_single(b));
}

Value LaneArithmetic::extreme(Op op, const Value& a, const Value& b, bool number_a, bool number_b) {
  if (is_narrow_float(a.type)) {
    const Value x = converter_.to_single(a), y = converter_.to_single(b);
    return converter_.converted(extreme(op, x, y, number_a, number_b), a.type);
  }
  const bool max = op == Op::kMax;
  const bool single = a.type == DType::kF32;
  const int w = width(a.type);
  const X86 pick =
      max ? (single ? X86::vmaxps : X86::vmaxpd) : (single ? X86::vminps : X86::vminpd);
  if (number_b) return vectors_.op3(pick, b, a);
  if (number_a) return vectors_.op3(pick, a, b);
  const X86 test = single ? X86::vcmpps : X86::vcmppd;
  // Fixed by: x86.
  constexpr int kOrdered = 7;
  if (wide()) {
    const Reg ordered =
        code_.define(RegClass::kMask, w, test, {vreg(b.reg, w), vreg(b.reg, w), imm(kOrdered)});
    return {code_.update(RegClass::kVec, w, b.reg, pick, {vreg(b.reg, w), vreg(a.reg, w)}, ordered),
            a.type, size_of(a.type)};
  }
  const Value picked = vectors_.op3(pick, b, a);
  const Reg ordered =
      code_.define(RegClass::kVec, w, test, {vreg(b.reg, w), vreg(b.reg, w), imm(kOrdered)});
  return masks_.blend({ordered, DType::kBool, size_of(a.type)}, picked, b);
}

Value LaneArithmetic::multiply_bytes(const Value& a, const Value& b) {
  const int w = width(a.type);
  const auto def = [&](X86 op, Reg x, Operand y) {
    return code_.define(RegClass::kVec, w, op, {vreg(x, w), y});
  };
  const Reg even = def(X86::vpmullw, a.reg, vreg(b.reg, w));
  const Reg odd =
      def(X86::vpmullw, def(X86::vpsrlw, a.reg, imm(8)), vreg(def(X86::vpsrlw, b.reg, imm(8)), w));
  const Reg high = def(X86::vpsllw, odd, imm(8));
  const Reg low = def(X86::vpsrlw, def(X86::vpsllw, even, imm(8)), imm(8));
  return {def(X86::vorps, low, vreg(high, w)), a.type, 1};
}

Value LaneArithmetic::multiply_quads(const Value& a, const Value& b) {
  const int w = width(a.type);
  const auto def = [&](X86 op, Reg x, Operand y) {
    return code_.define(RegClass::kVec, w, op, {vreg(x, w), y});
  };
  const Reg low = def(X86::vpmuludq, a.reg, vreg(b.reg, w));
  const Reg cross1 = def(X86::vpmuludq, def(X86::vpsrlq, a.reg, imm(32)), vreg(b.reg, w));
  const Reg cross2 = def(X86::vpmuludq, def(X86::vpsrlq, b.reg, imm(32)), vreg(a.reg, w));
  const Reg cross = def(X86::vpsllq, def(X86::vpaddq, cross1, vreg(cross2, w)), imm(32));
  return {def(X86::vpaddq, low, vreg(cross, w)), a.type, 8};
}

Value LaneArithmetic::shift_quads(const Value& a, const Value& count) {
  const Value sign = vectors_.op3(X86::vpcmpgtq, vectors_.constant_bits(a.type, 0), a);
  const Value shifted = vectors_.op3(X86::vpsrlvq, vectors_.op3(X86::vxorps, a, sign), count);
  return vectors_.op3(X86::vxorps, shifted, sign);
}

Value LaneArithmetic::shifted_by(Op op, const Value& a, int count) {
  if (count == 0) return a;
  const bool two = size_of(a.type) == 2, eight = size_of(a.type) == 8;
  const X86 x = op == Op::kShl ? (two     ? X86::vpsllw
                                  : eight ? X86::vpsllq
                                          : X86::vpslld)
                               : (two     ? X86::vpsraw
                                  : eight ? X86::vpsraq
                                          : X86::vpsrad);
  if (eight && op == Op::kShr && !wide()) {
    return shift_quads(a, vectors_.constant_bits(a.type, static_cast<uint64_t>(count)));
  }
  const int w = width(a.type);
  return {code_.define(RegClass::kVec, w, x, {vreg(a.reg, w), imm(count)}), a.type,
          size_of(a.type)};
}

Value LaneArithmetic::fused(Fused kind, const Value& a, const Value& b, const Value& c) {
  constexpr X86 kOnAddend[3][2] = {{X86::vfmadd231ps, X86::vfmadd231pd},
                                   {X86::vfnmadd231ps, X86::vfnmadd231pd},
                                   {X86::vfmsub231ps, X86::vfmsub231pd}};
  constexpr X86 kOnFactor[3][2] = {{X86::vfmadd213ps, X86::vfmadd213pd},
                                   {X86::vfnmadd213ps, X86::vfnmadd213pd},
                                   {X86::vfmsub213ps, X86::vfmsub213pd}};
  const int type = c.type == DType::kF32 ? 0 : 1;
  const int w = width(c.type);
  const auto passing = [&](const Value& v) {
    return code_.level(v.reg) == code_.depth() && code_.lir.regs[v.reg.id].remat < 0;
  };
  const auto made = [&](const Value& start, const X86(&ops)[3][2], const Value& x, const Value& y) {
    return Value{code_.update(RegClass::kVec, w, start.reg, ops[static_cast<int>(kind)][type],
                              {vreg(x.reg, w), vreg(y.reg, w)}),
                 c.type, size_of(c.type)};
  };
  if (!passing(c) && passing(a)) return made(a, kOnFactor, b, c);
  if (!passing(c) && passing(b)) return made(b, kOnFactor, a, c);
  return made(c, kOnAddend, a, b);
}

void LaneArithmetic::multiply_add_to(Reg dest, const Value& a, const Value& b, bool negate,
                                     Reg mask) {
  const bool single = a.type == DType::kF32;
  const X86 op = negate ? (single ? X86::vfnmadd231ps : X86::vfnmadd231pd)
                        : (single ? X86::vfmadd231ps : X86::vfmadd231pd);
  const int w = width(a.type);
  code_.emit(op, {vreg(dest, w), vreg(a.reg, w), vreg(b.reg, w)}, mask);
}

bool LaneArithmetic::combine_under(ir::Reduce reduce, Reg dest, const Value& v, Reg mask) {
  const bool extreme = reduce == ir::Reduce::kMax || reduce == ir::Reduce::kMin;
  const Op op = reduce == ir::Reduce::kSum    ? Op::kAdd
                : reduce == ir::Reduce::kProd ? Op::kMul
                : reduce == ir::Reduce::kMax  ? Op::kMax
                                              : Op::kMin;
  if (!extreme && reduce != ir::Reduce::kSum && reduce != ir::Reduce::kProd) return false;
  // Extremes of floats propagate NaN, in several instructions.
  const bool one = v.type != DType::kBool && !(extreme && is_float(v.type));
  const X86 x = one ? instruction_of(op, v.type, wide()) : kNothing;
  if (x == kNothing) return false;
  const int w = width(v.type);
  code_.emit(x, {vreg(dest, w), vreg(dest, w), vreg(v.reg, w)}, mask);
  return true;
}

Value LaneArithmetic::combine(ir::Reduce reduce, const Value& a, const Value& b) {
  switch (reduce) {
    case ir::Reduce::kSum:
      return apply(Op::kAdd, a, b);
    case ir::Reduce::kProd:
      return apply(Op::kMul, a, b);
    case ir::Reduce::kMax:
      return apply(Op::kMax, a, b);
    case ir::Reduce::kMin:
      return apply(Op::kMin, a, b);
    case ir::Reduce::kAny:
      return masks_.logic(Op::kOr, a, b);
    case ir::Reduce::kAll:
      return masks_.logic(Op::kAnd, a, b);
    default:
      return b;
  }
}

}  // namespace hone::jit
