// SPDX-License-Identifier: Apache-2.0
// Expressions as vectors of lanes. What is the same in all lanes is computed on all of them.
#include <bit>
#include <cmath>

#include "jit/ir/half.h"
#include "jit/x86/select_context.h"

namespace hone::jit {

using ir::Op;

bool Selector::is_product(const ir::Expr& e) {
  return e->op == Op::kMul && (e->type == DType::kF32 || e->type == DType::kF64);
}

Value Selector::value(const ir::Expr& e) {
  if (failed()) return {};
  if (e->type == DType::kI64 && !depends_on_lane(e) && steers(e)) return from_integer(e);
  switch (e->op) {
    case Op::kInt:
    case Op::kFloat:
      return constant(e->type, *e);
    case Op::kVar:
    case Op::kDim:
      return from_integer(e);
    case Op::kScalar:
      return scalar_argument(e);
    case Op::kLoad:
      return load(e);
    case Op::kCast:
      return convert(e);
    case Op::kSelect:
      return select_lanes(e);
    case Op::kNeg:
      return unary(e);
    case Op::kEq:
    case Op::kNe:
    case Op::kLt:
    case Op::kLe:
      return compare(e);
    case Op::kNot:
    case Op::kAnd:
    case Op::kOr:
      return logic(e);
    case Op::kCall:
      return call(e);
    default:
      return binary(e);
  }
}

/// The bits of a constant: of `f` for floats, of `i` for integers.
uint64_t Selector::bits_of(DType type, double f, int64_t i) {
  switch (type) {
    case DType::kF64:
      return std::bit_cast<uint64_t>(f);
    case DType::kF32:
      return std::bit_cast<uint32_t>(static_cast<float>(f));
    case DType::kF16:
      return ir::f16_from(f);
    case DType::kBF16:
      return ir::bf16_from(f);
    default:
      return static_cast<uint64_t>(i);
  }
}

Value Selector::constant(DType type, const ir::Node& node) {
  if (type == DType::kBool) return uniform_mask(node.i != 0);
  const double f = node.op == Op::kFloat ? node.f : static_cast<double>(node.i);
  return constant_bits(type, bits_of(type, f, node.i));
}

/// All lanes hold the low bytes of `bits`.
Value Selector::constant_bits(DType type, uint64_t bits) {
  const int size = size_of(type);
  if (size < 8) bits &= (uint64_t{1} << (8 * size)) - 1;
  if (bits == 0) {
    const Reg zero =
        code.sequence(RegClass::kVec, 16, Sequence::kZero, {}, [&](CodeList& list, Reg r) {
          code.append(list, X86::vxorps, {vreg(r, 16), vreg(r, 16), vreg(r, 16)});
        });
    return {zero, type, size};
  }
  const int32_t at = code.pool(&bits, size);
  const int w = width(type);
  return {code.load_pool(w, broadcast_of(size, w), at), type, size};
}

Value Selector::scalar_argument(const ir::Expr& e) {
  const Mem m = argument(layout_.scalar_slots[e->id]);
  if (e->type == DType::kBool) {
    return mask_of_bytes({broadcast_load(m, DType::kU8, -1, {}), DType::kU8, 1});
  }
  return {broadcast_load(m, e->type, -1, {}), e->type, size_of(e->type)};
}

/// An integer of the index kind in all lanes; with the lane's number where it depends on it.
Value Selector::from_integer(const ir::Expr& e) {
  const int32_t lane = Factor::make(Factor::kLane, 0);
  const Affine a = affine(e);
  const Affine stride = a.coefficient_of(lane);
  const Affine first = a.without(lane);
  if (failed()) return {};
  Value v = splat(gpr(first), DType::kI64);
  if (stride.is_constant() && stride.constant == 0) return v;
  std::array<int64_t, 8> numbers{};
  for (int64_t i = 0; i < 8; ++i) numbers[i] = i;
  const int w = width(DType::kI64);
  if (w > target_.vector_bytes()) {
    refuse("64-bit integers that differ between lanes do not fit the vector loop");
    return {};
  }
  Value iota{code.load_pool(w, X86::vmovups, code.pool(numbers.data(), w)), DType::kI64, 8};
  if (!(stride.is_constant() && stride.constant == 1)) {
    iota = arithmetic(Op::kMul, iota, splat(gpr(stride), DType::kI64));
  }
  return arithmetic(Op::kAdd, v, iota);
}

/// The low bytes of a general register in all lanes.
Value Selector::splat(Reg r, DType type) {
  const int size = size_of(type);
  const int w = width(type);
  const Reg low = size == 8 ? code.define(RegClass::kVec, 16, X86::vmovq, {greg(r, 8)})
                            : code.define(RegClass::kVec, 16, X86::vmovd, {greg(r, 4)});
  if (lanes_.count == 1) return {low, type, size};
  const X86 op = size == 1   ? X86::vpbroadcastb
                 : size == 2 ? X86::vpbroadcastw
                 : size == 4 ? X86::vpbroadcastd
                             : X86::vpbroadcastq;
  return {code.define(RegClass::kVec, w, op, {vreg(low, 16)}), type, size};
}

Value Selector::unary(const ir::Expr& e) {
  const Value a = value(e->args[0]);
  if (failed()) return {};
  if (!is_float(e->type)) return arithmetic(Op::kSub, constant_bits(e->type, 0), a);
  // Negation changes the sign and nothing else, of NaN as well.
  const Value sign = constant_bits(e->type, uint64_t{1} << (8 * size_of(e->type) - 1));
  return op3(X86::vxorps, a, sign);
}

Value Selector::binary(const ir::Expr& e) {
  const bool add = e->op == Op::kAdd, sub = e->op == Op::kSub;
  // a * b + c in one rounding, as the numerics class of emitted code says.
  if ((add || sub) && is_product(e->args[0])) {
    const Value a = value(e->args[0]->args[0]), b = value(e->args[0]->args[1]);
    return fused(add ? Fused::kAdd : Fused::kSub, a, b, value(e->args[1]));
  }
  if ((add || sub) && is_product(e->args[1])) {
    const Value a = value(e->args[1]->args[0]), b = value(e->args[1]->args[1]);
    return fused(add ? Fused::kAdd : Fused::kNegatedAdd, a, b, value(e->args[0]));
  }
  const Value a = value(e->args[0]);
  int64_t divisor = 0;
  const bool divides = (e->op == Op::kDiv || e->op == Op::kMod) && is_int(e->type);
  if (divides && ir::is_const(e->args[1], &divisor) && divisor > 0 &&
      std::has_single_bit(static_cast<uint64_t>(divisor))) {
    return divide_by_power(e->op, a, std::countr_zero(static_cast<uint64_t>(divisor)));
  }
  const Value b = value(e->args[1]);
  if (failed()) return {};
  return arithmetic(e->op, a, b);
}

/// The instruction overwrites one of its operands: the addend, unless that is a constant or comes
/// from outside the loop, and a factor does not.
Value Selector::fused(Fused kind, const Value& a, const Value& b, const Value& c) {
  if (failed()) return {};
  constexpr X86 kOnAddend[3][2] = {{X86::vfmadd231ps, X86::vfmadd231pd},
                                   {X86::vfnmadd231ps, X86::vfnmadd231pd},
                                   {X86::vfmsub231ps, X86::vfmsub231pd}};
  constexpr X86 kOnFactor[3][2] = {{X86::vfmadd213ps, X86::vfmadd213pd},
                                   {X86::vfnmadd213ps, X86::vfnmadd213pd},
                                   {X86::vfmsub213ps, X86::vfmsub213pd}};
  const int type = c.type == DType::kF32 ? 0 : 1;
  const int w = width(c.type);
  const auto passing = [&](const Value& v) {
    return code.level(v.reg) == code.depth() && code.lir.regs[v.reg.id].remat < 0;
  };
  const auto made = [&](const Value& start, const X86(&ops)[3][2], const Value& x, const Value& y) {
    return Value{code.update(RegClass::kVec, w, start.reg, ops[static_cast<int>(kind)][type],
                             {vreg(x.reg, w), vreg(y.reg, w)}),
                 c.type, size_of(c.type)};
  };
  if (!passing(c) && passing(a)) return made(a, kOnFactor, b, c);
  if (!passing(c) && passing(b)) return made(b, kOnFactor, a, c);
  return made(c, kOnAddend, a, b);
}

void Selector::multiply_add_to(Reg dest, const Value& a, const Value& b, bool negate, Reg mask) {
  const bool single = a.type == DType::kF32;
  const X86 op = negate ? (single ? X86::vfnmadd231ps : X86::vfnmadd231pd)
                        : (single ? X86::vfmadd231ps : X86::vfmadd231pd);
  const int w = width(a.type);
  code.emit(op, {vreg(dest, w), vreg(a.reg, w), vreg(b.reg, w)}, mask);
}

Value Selector::combine(ir::Reduce reduce, const Value& a, const Value& b) {
  if (failed()) return {};
  switch (reduce) {
    case ir::Reduce::kSum:
      return arithmetic(Op::kAdd, a, b);
    case ir::Reduce::kProd:
      return arithmetic(Op::kMul, a, b);
    case ir::Reduce::kMax:
      return arithmetic(Op::kMax, a, b);
    case ir::Reduce::kMin:
      return arithmetic(Op::kMin, a, b);
    case ir::Reduce::kAny:
      return mask_logic(Op::kOr, a, b);
    case ir::Reduce::kAll:
      return mask_logic(Op::kAnd, a, b);
    default:
      return b;
  }
}

}  // namespace hone::jit
