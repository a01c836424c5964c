// SPDX-License-Identifier: Apache-2.0
// Bools in vectors: mask registers on AVX-512, lanes of all ones or zeros elsewhere. A mask of
// element 0 is the same in all lanes and of any element size.
#include <algorithm>

#include "jit/x86/select_context.h"

namespace hone::jit {

using ir::Op;

namespace {

constexpr int kEqual = 0, kLess = 17, kLessEqual = 18, kNotEqual = 4;

int float_predicate(Op op) {
  return op == Op::kEq ? kEqual : op == Op::kNe ? kNotEqual : op == Op::kLt ? kLess : kLessEqual;
}

/// Of vpcmp and vpcmpu: eq 0, lt 1, le 2, ne 4.
int integer_predicate(Op op) {
  return op == Op::kEq ? 0 : op == Op::kNe ? 4 : op == Op::kLt ? 1 : 2;
}

X86 wide_compare(DType type) {
  switch (type) {
    case DType::kI64:
      return X86::vpcmpq;
    case DType::kI32:
      return X86::vpcmpd;
    case DType::kI16:
      return X86::vpcmpw;
    case DType::kI8:
      return X86::vpcmpb;
    default:
      return X86::vpcmpub;
  }
}

X86 equal_of(int size) {
  return size == 8   ? X86::vpcmpeqq
         : size == 4 ? X86::vpcmpeqd
         : size == 2 ? X86::vpcmpeqw
                     : X86::vpcmpeqb;
}

X86 greater_of(int size) {
  return size == 8   ? X86::vpcmpgtq
         : size == 4 ? X86::vpcmpgtd
         : size == 2 ? X86::vpcmpgtw
                     : X86::vpcmpgtb;
}

}  // namespace

int Selector::mask_width(const Value& mask) const {
  if (mask.element == 0) return target_.vector_bytes();
  const int bytes = lanes_.count * mask.element;
  return bytes < 16 ? 16 : bytes;
}

Value Selector::uniform_mask(bool on) {
  if (wide()) {
    return {code.define(RegClass::kMask, 8, X86::kmovq, {greg(constant_gpr(on ? -1 : 0))}),
            DType::kBool, 0};
  }
  if (!on) return {constant_bits(DType::kI32, 0).reg, DType::kBool, 0};
  const int w = target_.vector_bytes();
  return {code.sequence(RegClass::kVec, w, Sequence::kOnes, {},
                        [&](CodeList& list, Reg r) {
                          code.append(list, X86::vpcmpeqd, {vreg(r, w), vreg(r, w), vreg(r, w)});
                        }),
          DType::kBool, 0};
}

/// The mask that is on in all lanes where the general register holds 1, off where 0.
Value Selector::uniform_mask(Reg bit) {
  const Reg bits = code.update(RegClass::kGpr, 8, bit, X86::neg, {});
  if (wide()) return {code.define(RegClass::kMask, 8, X86::kmovq, {greg(bits)}), DType::kBool, 0};
  const Reg low = code.define(RegClass::kVec, 16, X86::vmovq, {greg(bits)});
  return {code.define(RegClass::kVec, target_.vector_bytes(), X86::vpbroadcastq, {vreg(low, 16)}),
          DType::kBool, 0};
}

/// The lanes before number `count`, which is in [0, lanes].
Value Selector::prefix_mask(Reg count) {
  if (wide()) return {lane_prefix(count), DType::kBool, 0};
  const int element = std::min(8, target_.vector_bytes() / lanes_.count);
  const int w = std::max(16, lanes_.count * element);
  std::vector<uint8_t> iota(w, 0);
  for (int i = 0; i < lanes_.count; ++i) iota[i * element] = static_cast<uint8_t>(i);
  const Value numbers{code.load_pool(w, X86::vmovups, code.pool(iota.data(), w)), DType::kI64,
                      element};
  const DType type = element == 8   ? DType::kI64
                     : element == 4 ? DType::kI32
                     : element == 2 ? DType::kI16
                                    : DType::kI8;
  const Value limit = splat(count, type);
  return {code.define(RegClass::kVec, w, greater_of(element),
                      {vreg(limit.reg, w), vreg(numbers.reg, w)}),
          DType::kBool, element};
}

/// A general register with the greater, or the lesser, of a value and a limit.
Reg Selector::at_least(const Affine& a, int64_t limit) {
  return extreme_of(ir::Op::kMax, gpr(a), constant_gpr(limit));
}
Reg Selector::at_most(const Affine& a, int64_t limit) {
  return extreme_of(ir::Op::kMin, gpr(a), constant_gpr(limit));
}

/// A general register limited to [0, lanes].
Reg Selector::limited_to_lanes(const Affine& a) {
  const Reg low = at_least(a, 0);
  return at_most(Affine::of_factor(Factor::make(Factor::kReg, low.id)), lanes_.count);
}

/// Lanes with `d` < 0, where d = slope * lane + something the same in all lanes, slope 1 or -1.
Value Selector::negative_lanes(const Affine& d, int slope) {
  const Affine rest = d.without(Factor::make(Factor::kLane, 0));
  int64_t least, most;
  if (range_of(d, least, most)) {
    if (most < 0) return uniform_mask(true);
    if (least >= 0) return uniform_mask(false);
  }
  if (slope > 0) return prefix_mask(limited_to_lanes(scaled(rest, -1)));
  return mask_not(prefix_mask(limited_to_lanes(rest + Affine::of(1))));
}

/// A comparison of integers that steer; null when it is not of a form that lane numbers decide.
bool Selector::compare_lanes(const ir::Expr& e, Value& out) {
  const int32_t lane = Factor::make(Factor::kLane, 0);
  Affine a, b;
  if (!lane_index(e->args[0], a) || !lane_index(e->args[1], b)) return false;
  const Affine d = a - b;
  if (failed()) return true;
  const Affine slope = d.coefficient_of(lane);
  if (!slope.is_constant() || slope.constant < -1 || slope.constant > 1) return false;
  if (slope.constant == 0) {
    out = uniform_mask(integer_compare(e));
    return true;
  }
  const int s = static_cast<int>(slope.constant);
  const Affine below = d - Affine::of(1);  // d <= 0 is d - 1 < 0
  switch (e->op) {
    case Op::kLt:
      out = negative_lanes(d, s);
      break;
    case Op::kLe:
      out = negative_lanes(below, s);
      break;
    default: {
      const Value not_equal =
          mask_logic(Op::kOr, negative_lanes(d, s), mask_not(negative_lanes(below, s)));
      out = e->op == Op::kNe ? not_equal : mask_not(not_equal);
    }
  }
  return true;
}

Value Selector::compare(const ir::Expr& e) {
  const DType type = e->args[0]->type;
  if (type == DType::kI64) {
    if (!depends_on_lane(e) && steers(e)) return uniform_mask(integer_compare(e));
    Value v;
    if (steers(e) && compare_lanes(e, v)) return v;
  }
  const Value a = value(e->args[0]), b = value(e->args[1]);
  if (failed()) return {};
  return compare_values(e->op, a, b);
}

Value Selector::compare_values(Op op, const Value& a, const Value& b) {
  if (a.type == DType::kBool) {
    // x < y is !x & y; x == y is !(x ^ y).
    if (op == Op::kLt) return mask_logic(Op::kAnd, mask_not(a), b);
    if (op == Op::kLe) return mask_logic(Op::kOr, mask_not(a), b);
    const Value differ = mask_logic(Op::kNe, a, b);
    return op == Op::kNe ? differ : mask_not(differ);
  }
  const int w = width(a.type), size = size_of(a.type);
  if (is_float(a.type)) {
    if (size == 2) return compare_values(op, to_single(a), to_single(b));
    const X86 x = size == 4 ? X86::vcmpps : X86::vcmppd;
    return {code.define(wide() ? RegClass::kMask : RegClass::kVec, w, x,
                        {vreg(a.reg, w), vreg(b.reg, w), imm(float_predicate(op))}),
            DType::kBool, size};
  }
  if (wide()) {
    return {code.define(RegClass::kMask, w, wide_compare(a.type),
                        {vreg(a.reg, w), vreg(b.reg, w), imm(integer_predicate(op))}),
            DType::kBool, size};
  }
  const auto vec = [&](X86 x, const Value& l, const Value& r) {
    return Value{code.define(RegClass::kVec, w, x, {vreg(l.reg, w), vreg(r.reg, w)}), DType::kBool,
                 size};
  };
  if (op == Op::kEq) return vec(equal_of(size), a, b);
  if (op == Op::kNe) return mask_not(vec(equal_of(size), a, b));
  if (a.type == DType::kU8) {
    // a <= b where the smaller of both is a.
    if (op == Op::kLe) return vec(X86::vpcmpeqb, op3(X86::vpminub, a, b), a);
    return mask_not(vec(X86::vpcmpeqb, op3(X86::vpminub, b, a), b));
  }
  if (op == Op::kLt) return vec(greater_of(size), b, a);
  return mask_not(vec(greater_of(size), a, b));
}

/// And, or, and `kNe` for exclusive or.
Value Selector::mask_logic(Op op, const Value& x, const Value& y) {
  if (failed()) return {};
  if (wide()) {
    const X86 k = op == Op::kAnd ? X86::kandq : op == Op::kOr ? X86::korq : X86::kxorq;
    return {code.define(RegClass::kMask, 8, k, {kreg(x.reg), kreg(y.reg)}), DType::kBool,
            x.element};
  }
  Value a = x, b = y;
  const int element = a.element == 0   ? b.element
                      : b.element == 0 ? a.element
                                       : std::max(a.element, b.element);
  a = as_element(a, element);
  b = as_element(b, element);
  const X86 v = op == Op::kAnd ? X86::vandps : op == Op::kOr ? X86::vorps : X86::vxorps;
  const int w = mask_width({a.reg, DType::kBool, element});
  return {code.define(RegClass::kVec, w, v, {vreg(a.reg, w), vreg(b.reg, w)}), DType::kBool,
          element};
}

Value Selector::mask_not(const Value& x) {
  if (failed()) return {};
  if (wide())
    return {code.define(RegClass::kMask, 8, X86::knotq, {kreg(x.reg)}), DType::kBool, x.element};
  return mask_logic(Op::kNe, x, uniform_mask(true));
}

/// AVX2: the mask with lanes of another size.
Value Selector::as_element(const Value& mask, int size) {
  if (wide() || mask.element == size || mask.element == 0)
    return {mask.reg, DType::kBool, wide() ? mask.element : size};
  Value m = mask;
  while (m.element < size) {
    const X86 x = m.element == 1   ? X86::vpmovsxbw
                  : m.element == 2 ? X86::vpmovsxwd
                                   : X86::vpmovsxdq;
    const int to = std::max(16, lanes_.count * m.element * 2);
    m = {code.define(RegClass::kVec, to, x, {vreg(m.reg, 16)}), DType::kBool, m.element * 2};
  }
  while (m.element > size) {
    Reg low = m.reg, high = m.reg;
    if (mask_width(m) == 32) {
      high = code.define(RegClass::kVec, 16, X86::vextracti128, {vreg(m.reg, 32), imm(1)});
    }
    if (m.element == 8) {
      constexpr int kEvenLanes = 0x88;
      low = code.define(RegClass::kVec, 16, X86::vshufps,
                        {vreg(low, 16), vreg(high, 16), imm(kEvenLanes)});
    } else {
      low = code.define(RegClass::kVec, 16, m.element == 4 ? X86::vpackssdw : X86::vpacksswb,
                        {vreg(low, 16), vreg(high, 16)});
    }
    m = {low, DType::kBool, m.element / 2};
  }
  return m;
}

Value Selector::logic(const ir::Expr& e) {
  bool holds = false;
  if (e->type == DType::kBool && e->op != Op::kNot) {
    // The side that is the same in all lanes, whatever the loops do, says nothing or everything.
    const bool decisive = e->op == Op::kOr;
    for (size_t i = 0; i < 2; ++i) {
      if (!decided(e->args[i], holds)) continue;
      return holds == decisive ? uniform_mask(holds) : value(e->args[1 - i]);
    }
  }
  const Value a = value(e->args[0]);
  if (failed()) return {};
  if (e->type != DType::kBool) {
    // On integers: bit by bit.
    if (e->op == Op::kNot) return op3(X86::vxorps, a, constant_bits(a.type, ~uint64_t{0}));
    return op3(e->op == Op::kAnd ? X86::vandps : X86::vorps, a, value(e->args[1]));
  }
  if (e->op == Op::kNot) return mask_not(a);
  return mask_logic(e->op, a, value(e->args[1]));
}

Value Selector::select_lanes(const ir::Expr& e) {
  bool holds = false;
  if (decided(e->args[0], holds)) return value(e->args[holds ? 1 : 2]);
  const Value mask = value(e->args[0]);
  const Value then = value(e->args[1]);
  const Value otherwise = value(e->args[2]);
  if (failed()) return {};
  return blend(mask, then, otherwise);
}

Value Selector::blend(const Value& mask, const Value& then, const Value& otherwise) {
  if (failed()) return {};
  if (then.type == DType::kBool) {
    return mask_logic(Op::kOr, mask_logic(Op::kAnd, mask, then),
                      mask_logic(Op::kAnd, mask_not(mask), otherwise));
  }
  const int w = width(then.type), size = size_of(then.type);
  if (wide()) {
    const X86 move = size == 8   ? X86::vmovupd
                     : size == 4 ? X86::vmovups
                     : size == 2 ? X86::vmovdqu16
                                 : X86::vmovdqu8;
    return {code.update(RegClass::kVec, w, otherwise.reg, move, {vreg(then.reg, w)}, mask.reg),
            then.type, size};
  }
  const Value m = as_element(mask, size);
  const X86 x = size == 8 ? X86::vblendvpd : size == 4 ? X86::vblendvps : X86::vpblendvb;
  return {code.define(RegClass::kVec, w, x,
                      {vreg(otherwise.reg, w), vreg(then.reg, w), vreg(m.reg, w)}),
          then.type, size};
}

/// Bytes of 1 and 0, as bools are stored.
Value Selector::bytes_of_mask(const Value& mask) {
  if (failed()) return {};
  const Value ones = constant_bits(DType::kU8, 1);
  const int w = width(DType::kU8);
  if (wide()) {
    return {code.define(RegClass::kVec, w, X86::vmovdqu8, {vreg(ones.reg, w)}, mask.reg, true),
            DType::kU8, 1};
  }
  const Value m = as_element(mask, 1);
  return {code.define(RegClass::kVec, w, X86::vandps, {vreg(m.reg, w), vreg(ones.reg, w)}),
          DType::kU8, 1};
}

Value Selector::mask_of_bytes(const Value& bytes) {
  if (failed()) return {};
  return compare_values(Op::kNe, {bytes.reg, DType::kU8, 1}, constant_bits(DType::kU8, 0));
}

}  // namespace hone::jit
