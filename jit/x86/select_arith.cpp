// SPDX-License-Identifier: Apache-2.0
// One arithmetic operation on vectors, for each type.
#include "jit/x86/select_context.h"

namespace hone::jit {

using ir::Op;

namespace {

constexpr X86 kNothing = X86::after_last;

/// The instruction that does `op` on lanes of `type`, or kNothing where there is none.
X86 instruction_of(Op op, DType type, bool wide) {
  const bool eight = size_of(type) == 8;
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

Value Selector::op3(X86 op, const Value& a, const Value& b) {
  const int w = width(a.type);
  return {code.define(RegClass::kVec, w, op, {vreg(a.reg, w), vreg(b.reg, w)}), a.type,
          size_of(a.type)};
}

Value Selector::arithmetic(Op op, const Value& a, const Value& b) {
  if (failed()) return {};
  if (a.type == DType::kBool)
    return mask_logic(op == Op::kMin || op == Op::kMul ? Op::kAnd : Op::kOr, a, b);
  if (is_float(a.type) && size_of(a.type) == 2) {
    return converted(arithmetic(op, to_single(a), to_single(b)), a.type);
  }
  if (is_float(a.type) && (op == Op::kMin || op == Op::kMax)) {
    return extremum(op == Op::kMax, a, b);
  }
  const X86 x = instruction_of(op, a.type, wide());
  if (x != kNothing) return op3(x, a, b);
  if (op == Op::kMul && size_of(a.type) == 1) return multiply_bytes(a, b);
  if (op == Op::kMul && size_of(a.type) == 8) return multiply_quads(a, b);
  if (op == Op::kMin || op == Op::kMax) {
    const Value less = op3(X86::vpcmpgtq, b, a);
    const Value mask{less.reg, DType::kBool, 8};
    return op == Op::kMin ? blend(mask, a, b) : blend(mask, b, a);
  }
  if (!is_float(a.type) && (op == Op::kDiv || op == Op::kMod)) return divide(op, a, b);
  refuse(std::string("there is no vector form of this operation on ") +
         std::string(name_of(a.type)));
  return {};
}

/// NaN wins: the instruction gives its second operand where either is NaN, which is right unless
/// only the first is. The one that is looked at is `b`, which in reductions is not the running
/// value, so that the test is not part of the chain from step to step.
Value Selector::extremum(bool max, const Value& a, const Value& b) {
  const bool single = a.type == DType::kF32;
  const int w = width(a.type);
  const X86 pick =
      max ? (single ? X86::vmaxps : X86::vmaxpd) : (single ? X86::vminps : X86::vminpd);
  const X86 test = single ? X86::vcmpps : X86::vcmppd;
  constexpr int kOrdered = 7;
  if (wide()) {
    const Reg ordered =
        code.define(RegClass::kMask, w, test, {vreg(b.reg, w), vreg(b.reg, w), imm(kOrdered)});
    return {code.update(RegClass::kVec, w, b.reg, pick, {vreg(b.reg, w), vreg(a.reg, w)}, ordered),
            a.type, size_of(a.type)};
  }
  const Value picked = op3(pick, b, a);
  const Reg ordered =
      code.define(RegClass::kVec, w, test, {vreg(b.reg, w), vreg(b.reg, w), imm(kOrdered)});
  return blend({ordered, DType::kBool, size_of(a.type)}, picked, b);
}

}  // namespace hone::jit
