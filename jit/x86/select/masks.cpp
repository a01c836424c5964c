// SPDX-License-Identifier: Apache-2.0
#include "jit/x86/select/masks.h"

#include <algorithm>
#include <bit>

namespace hone::jit {

using ir::Op;

namespace {

/// Fixed by: x86.
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

Reg Masks::active() {
  Reg mask;
  if (lanes_.active < 0) {
    mask = lane_prefix(lanes_.active_reg);
  } else if (lanes_.active < lanes_.count || (lanes_.condition.valid() && lanes_.count < 16)) {
    // A condition says nothing about lanes that fill a register up to 16 bytes.
    mask = lane_bits(lanes_.active);
  }
  if (!lanes_.condition.valid()) return mask;
  if (!mask.valid()) return lanes_.condition;
  return code_.define(RegClass::kMask, 8, X86::kandq, {kreg(mask), kreg(lanes_.condition)});
}

Reg Masks::lane_bits(int count) {
  const uint64_t bits = count == 64 ? ~uint64_t{0} : (uint64_t{1} << count) - 1;
  return code_.define(RegClass::kMask, 8, X86::kmovq,
                      {greg(constant_gpr(static_cast<int64_t>(bits)))});
}

Reg Masks::lane_prefix(Reg count) {
  const Reg bits =
      code_.define(RegClass::kGpr, 8, X86::bzhi, {greg(constant_gpr(-1)), greg(count)});
  return code_.define(RegClass::kMask, 8, X86::kmovq, {greg(bits)});
}

Value Masks::uniform(bool on) {
  if (wide()) {
    return {code_.define(RegClass::kMask, 8, X86::kmovq, {greg(constant_gpr(on ? -1 : 0))}),
            DType::kBool, 0};
  }
  if (!on) return {vectors_.constant_bits(DType::kI32, 0).reg, DType::kBool, 0};
  const int w = target_.vector_bytes();
  return {code_.sequence(RegClass::kVec, w, Sequence::kOnes, {},
                         [&](CodeList& list, Reg r) {
                           code_.append(list, X86::vpcmpeqd, {vreg(r, w), vreg(r, w), vreg(r, w)});
                         }),
          DType::kBool, 0};
}

/// The mask that is on in all lanes where the general register holds 1, off where 0.
Value Masks::uniform(Reg bit) {
  const Reg bits = code_.update(RegClass::kGpr, 8, bit, X86::neg, {});
  if (wide()) return {code_.define(RegClass::kMask, 8, X86::kmovq, {greg(bits)}), DType::kBool, 0};
  const Reg low = code_.define(RegClass::kVec, 16, X86::vmovq, {greg(bits)});
  return {code_.define(RegClass::kVec, target_.vector_bytes(), X86::vpbroadcastq, {vreg(low, 16)}),
          DType::kBool, 0};
}

Value Masks::prefix(Reg count) {
  if (wide()) return {lane_prefix(count), DType::kBool, 0};
  const int element = std::min(8, target_.vector_bytes() / lanes_.count);
  const int w = std::max(16, lanes_.count * element);
  std::vector<uint8_t> iota(w, 0);
  for (int i = 0; i < lanes_.count; ++i) iota[i * element] = static_cast<uint8_t>(i);
  const Value numbers{code_.load_pool(w, X86::vmovups, code_.pool(iota.data(), w)), DType::kI64,
                      element};
  const DType type = element == 8   ? DType::kI64
                     : element == 4 ? DType::kI32
                     : element == 2 ? DType::kI16
                                    : DType::kI8;
  const Value limit = vectors_.splat(count, type);
  return {code_.define(RegClass::kVec, w, greater_of(element),
                       {vreg(limit.reg, w), vreg(numbers.reg, w)}),
          DType::kBool, element};
}

Value Masks::of_lanes(uint64_t bits) {
  if (wide()) {
    return {code_.define(RegClass::kMask, 8, X86::kmovq,
                         {greg(constant_gpr(static_cast<int64_t>(bits)))}),
            DType::kBool, 0};
  }
  const int element = widest_element(), w = std::max(16, lanes_.count * element);
  std::vector<uint8_t> ones(static_cast<size_t>(w), 0);
  for (int i = 0; i < lanes_.count * element; ++i) {
    if (bits >> (i / element) & 1) ones[static_cast<size_t>(i)] = 0xff;
  }
  return {code_.load_pool(w, X86::vmovups, code_.pool(ones.data(), w)), DType::kBool, element};
}

int Masks::width_of(const Value& mask) const {
  if (mask.element == 0) return target_.vector_bytes();
  const int bytes = lanes_.count * mask.element;
  return bytes < 16 ? 16 : bytes;
}

int Masks::widest_element() const { return std::min(8, target_.vector_bytes() / lanes_.count); }

Value Masks::as_element(const Value& mask, int size) {
  if (wide() || mask.element == size || mask.element == 0)
    return {mask.reg, DType::kBool, wide() ? mask.element : size};
  Value m = mask;
  while (m.element < size) {
    const X86 x = m.element == 1   ? X86::vpmovsxbw
                  : m.element == 2 ? X86::vpmovsxwd
                                   : X86::vpmovsxdq;
    const int to = std::max(16, lanes_.count * m.element * 2);
    m = {code_.define(RegClass::kVec, to, x, {vreg(m.reg, 16)}), DType::kBool, m.element * 2};
  }
  while (m.element > size) {
    Reg low = m.reg, high = m.reg;
    if (width_of(m) == 32) {
      high = code_.define(RegClass::kVec, 16, X86::vextracti128, {vreg(m.reg, 32), imm(1)});
    }
    if (m.element == 8) {
      // Fixed by: x86.
      constexpr int kEvenLanes = 0x88;
      low = code_.define(RegClass::kVec, 16, X86::vshufps,
                         {vreg(low, 16), vreg(high, 16), imm(kEvenLanes)});
    } else {
      low = code_.define(RegClass::kVec, 16, m.element == 4 ? X86::vpackssdw : X86::vpacksswb,
                         {vreg(low, 16), vreg(high, 16)});
    }
    m = {low, DType::kBool, m.element / 2};
  }
  return m;
}

Value Masks::logic(Op op, const Value& x, const Value& y) {
  if (wide()) {
    const X86 k = op == Op::kAnd ? X86::kandq : op == Op::kOr ? X86::korq : X86::kxorq;
    return {code_.define(RegClass::kMask, 8, k, {kreg(x.reg), kreg(y.reg)}), DType::kBool,
            x.element};
  }
  Value a = x, b = y;
  const int element = a.element == 0   ? b.element
                      : b.element == 0 ? a.element
                                       : std::max(a.element, b.element);
  a = as_element(a, element);
  b = as_element(b, element);
  const X86 v = op == Op::kAnd ? X86::vandps : op == Op::kOr ? X86::vorps : X86::vxorps;
  const int w = width_of({a.reg, DType::kBool, element});
  return {code_.define(RegClass::kVec, w, v, {vreg(a.reg, w), vreg(b.reg, w)}), DType::kBool,
          element};
}

Value Masks::negated(const Value& x) {
  if (wide())
    return {code_.define(RegClass::kMask, 8, X86::knotq, {kreg(x.reg)}), DType::kBool, x.element};
  return logic(Op::kNe, x, uniform(true));
}

Value Masks::blend(const Value& mask, const Value& then, const Value& otherwise) {
  if (then.type == DType::kBool) {
    return logic(Op::kOr, logic(Op::kAnd, mask, then), logic(Op::kAnd, negated(mask), otherwise));
  }
  const int w = width(then.type), size = size_of(then.type);
  if (wide()) {
    const X86 move = size == 8   ? X86::vmovupd
                     : size == 4 ? X86::vmovups
                     : size == 2 ? X86::vmovdqu16
                                 : X86::vmovdqu8;
    return {code_.update(RegClass::kVec, w, otherwise.reg, move, {vreg(then.reg, w)}, mask.reg),
            then.type, size};
  }
  const Value m = as_element(mask, size);
  const X86 x = size == 8 ? X86::vblendvpd : size == 4 ? X86::vblendvps : X86::vpblendvb;
  return {code_.define(RegClass::kVec, w, x,
                       {vreg(otherwise.reg, w), vreg(then.reg, w), vreg(m.reg, w)}),
          then.type, size};
}

Value Masks::compare(Op op, const Value& a, const Value& b) {
  if (a.type == DType::kBool) {
    // x < y is !x & y; x == y is !(x ^ y).
    if (op == Op::kLt) return logic(Op::kAnd, negated(a), b);
    if (op == Op::kLe) return logic(Op::kOr, negated(a), b);
    const Value differ = logic(Op::kNe, a, b);
    return op == Op::kNe ? differ : negated(differ);
  }
  const int w = width(a.type), size = size_of(a.type);
  if (is_float(a.type)) {
    const X86 x = size == 4 ? X86::vcmpps : X86::vcmppd;
    return {code_.define(wide() ? RegClass::kMask : RegClass::kVec, w, x,
                         {vreg(a.reg, w), vreg(b.reg, w), imm(float_predicate(op))}),
            DType::kBool, size};
  }
  if (wide()) {
    return {code_.define(RegClass::kMask, w, wide_compare(a.type),
                         {vreg(a.reg, w), vreg(b.reg, w), imm(integer_predicate(op))}),
            DType::kBool, size};
  }
  const auto vec = [&](X86 x, const Value& l, const Value& r) {
    return Value{code_.define(RegClass::kVec, w, x, {vreg(l.reg, w), vreg(r.reg, w)}), DType::kBool,
                 size};
  };
  if (op == Op::kEq) return vec(equal_of(size), a, b);
  if (op == Op::kNe) return negated(vec(equal_of(size), a, b));
  if (a.type == DType::kU8) {
    // a <= b where the smaller of both is a.
    if (op == Op::kLe) return vec(X86::vpcmpeqb, vectors_.op3(X86::vpminub, a, b), a);
    return negated(vec(X86::vpcmpeqb, vectors_.op3(X86::vpminub, b, a), b));
  }
  if (op == Op::kLt) return vec(greater_of(size), b, a);
  return negated(vec(greater_of(size), a, b));
}

Reg Masks::first_lane(const Value& mask, int none) {
  const int each = wide() ? 1 : mask.element == 0 ? widest_element() : mask.element;
  Reg bits;
  if (wide()) {
    const Reg exist = lanes_.partial() ? active() : lane_bits(lanes_.count);
    const Value on = logic(Op::kAnd, mask, {exist, DType::kBool, 0});
    bits = code_.define(RegClass::kGpr, 8, X86::kmovq, {kreg(on.reg)});
  } else {
    const Value on = as_element(mask, each);
    const int all = lanes_.count * each;
    const auto lanes = static_cast<int64_t>((uint64_t{1} << all) - 1);
    bits = code_.define(RegClass::kGpr, 4, X86::vpmovmskb, {vreg(on.reg, width_of(on))});
    if (all < 32) bits = code_.update(RegClass::kGpr, 4, bits, X86::and_, {imm(lanes)});
  }
  code_.emit(X86::test, {greg(bits), greg(bits)});
  code_.emit(Pseudo::jump_eq, {imm(none)});
  const Reg first = code_.define(RegClass::kGpr, 8, X86::tzcnt, {greg(bits)});
  const int shift = std::countr_zero(static_cast<unsigned>(each));
  return shift == 0 ? first : code_.update(RegClass::kGpr, 8, first, X86::shr, {imm(shift)});
}

/// A float beside itself, by a predicate of the instruction.
Value Masks::with_itself(const Value& v, int predicate) {
  const int w = width(v.type), size = size_of(v.type);
  return {code_.define(wide() ? RegClass::kMask : RegClass::kVec, w,
                       size == 4 ? X86::vcmpps : X86::vcmppd,
                       {vreg(v.reg, w), vreg(v.reg, w), imm(predicate)}),
          DType::kBool, size};
}

Value Masks::unordered(const Value& v) {
  // Fixed by: x86.
  constexpr int kUnordered = 3;
  return with_itself(v, kUnordered);
}

Value Masks::ordered(const Value& v) {
  // Fixed by: x86.
  constexpr int kOrdered = 7;
  return with_itself(v, kOrdered);
}

Value Masks::bytes_of(const Value& mask) {
  const Value ones = vectors_.constant_bits(DType::kU8, 1);
  const int w = width(DType::kU8);
  if (wide()) {
    return {code_.define(RegClass::kVec, w, X86::vmovdqu8, {vreg(ones.reg, w)}, mask.reg, true),
            DType::kU8, 1};
  }
  const Value m = as_element(mask, 1);
  return {code_.define(RegClass::kVec, w, X86::vandps, {vreg(m.reg, w), vreg(ones.reg, w)}),
          DType::kU8, 1};
}

Value Masks::of_bytes(const Value& bytes) {
  return compare(Op::kNe, {bytes.reg, DType::kU8, 1}, vectors_.constant_bits(DType::kU8, 0));
}

Value Masks::loaded(const Value& v, int buffer) {
  return nest_.buffers[buffer].type == DType::kBool ? of_bytes(v) : v;
}

Value Masks::stored(const Value& v) { return v.type == DType::kBool ? bytes_of(v) : v; }

}  // namespace hone::jit
