// SPDX-License-Identifier: Apache-2.0
// Scalar functions of the language, expanded into vector instructions.
#include "jit/x86/select/calls.h"

#include <algorithm>

#include "jit/ir/functions/function.h"
#include "jit/x86/math/functions.h"

namespace hone::jit {

using ir::Op;

/// One instruction on vectors of a float type, as functions of math/ ask for it; see MathBuilder.
class MathInstructions {
 public:
  using V = Value;
  using M = Value;

  MathInstructions(Calls& s, DType type)
      : s_(s), type_(type), single_(type == DType::kF32), width_(s.width(type)) {}

  bool has_avx512() const { return s_.wide(); }
  V constant(double d) { return s_.vectors_.constant_bits(type_, bits_of(type_, d, 0)); }
  V constant_bits(uint64_t u) { return s_.vectors_.constant_bits(type_, u); }

  V add(V a, V b) { return two(single_ ? X86::vaddps : X86::vaddpd, a, b); }
  V sub(V a, V b) { return two(single_ ? X86::vsubps : X86::vsubpd, a, b); }
  V mul(V a, V b) { return two(single_ ? X86::vmulps : X86::vmulpd, a, b); }
  V div(V a, V b) { return two(single_ ? X86::vdivps : X86::vdivpd, a, b); }
  V min(V a, V b) { return two(single_ ? X86::vminps : X86::vminpd, a, b); }
  V max(V a, V b) { return two(single_ ? X86::vmaxps : X86::vmaxpd, a, b); }
  V sqrt(V a) { return one(single_ ? X86::vsqrtps : X86::vsqrtpd, a); }
  V fma(V a, V b, V c) { return s_.arithmetic_.fused(Fused::kAdd, a, b, c); }
  V fnma(V a, V b, V c) { return s_.arithmetic_.fused(Fused::kNegatedAdd, a, b, c); }
  V fms(V a, V b, V c) { return s_.arithmetic_.fused(Fused::kSub, a, b, c); }

  V round(V a) { return rounded(a, 0); }
  V floor(V a) { return rounded(a, 1); }
  V ceil(V a) { return rounded(a, 2); }
  V trunc(V a) { return rounded(a, 3); }

  V and_(V a, V b) { return two(single_ ? X86::vandps : X86::vandpd, a, b); }
  V or_(V a, V b) { return two(single_ ? X86::vorps : X86::vorpd, a, b); }
  V xor_(V a, V b) { return two(single_ ? X86::vxorps : X86::vxorpd, a, b); }
  V andnot(V a, V b) { return two(single_ ? X86::vandnps : X86::vandnpd, a, b); }
  V shl(V a, int n) { return shifted(single_ ? X86::vpslld : X86::vpsllq, a, n); }
  V shr(V a, int n) { return shifted(single_ ? X86::vpsrld : X86::vpsrlq, a, n); }
  V iadd(V a, V b) { return two(single_ ? X86::vpaddd : X86::vpaddq, a, b); }
  V isub(V a, V b) { return two(single_ ? X86::vpsubd : X86::vpsubq, a, b); }

 protected:
  V made(Reg r) const { return {r, type_, size_of(type_)}; }
  V two(X86 op, V a, V b) {
    return made(
        s_.code_.define(RegClass::kVec, width_, op, {vreg(a.reg, width_), vreg(b.reg, width_)}));
  }
  V one(X86 op, V a) {
    return made(s_.code_.define(RegClass::kVec, width_, op, {vreg(a.reg, width_)}));
  }
  V immediate(X86 op, V a, int n) {
    return made(s_.code_.define(RegClass::kVec, width_, op, {vreg(a.reg, width_), imm(n)}));
  }
  V shifted(X86 op, V a, int n) { return immediate(op, a, n); }
  V rounded(V a, int mode) {
    // Fixed by: x86.
    constexpr int kQuiet = 8;
    const X86 op = has_avx512() ? (single_ ? X86::vrndscaleps : X86::vrndscalepd)
                                : (single_ ? X86::vroundps : X86::vroundpd);
    return immediate(op, a, mode | kQuiet);
  }

  Calls& s_;
  DType type_;
  bool single_;
  int width_;
};

/// What functions of math/ are written against; see MathBuilder. Vectors and masks are Values.
class MathEmitter : public MathInstructions {
 public:
  using MathInstructions::MathInstructions;

  V copysign(V a, V b) {
    const V sign = constant_bits(single_ ? 0x80000000u : uint64_t{1} << 63);
    if (!has_avx512()) return or_(andnot(sign, a), and_(sign, b));
    // Fixed by: x86.
    constexpr int kFirstPicksThirdElseSecond = 0xac;
    return made(s_.code_.update(
        RegClass::kVec, width_, sign.reg, single_ ? X86::vpternlogd : X86::vpternlogq,
        {vreg(a.reg, width_), vreg(b.reg, width_), imm(kFirstPicksThirdElseSecond)}));
  }

  M eq(V a, V b) { return compared(a, b, 0); }
  M unord(V a, V b) { return compared(a, b, 3); }
  M neq(V a, V b) { return compared(a, b, 4); }
  M lt(V a, V b) { return compared(a, b, 17); }
  M le(V a, V b) { return compared(a, b, 18); }
  M ge(V a, V b) { return compared(a, b, 29); }
  M gt(V a, V b) { return compared(a, b, 30); }
  M nlt(V a, V b) { return compared(a, b, 21); }
  M both(M a, M b) { return s_.masks_.logic(Op::kAnd, a, b); }
  M either(M a, M b) { return s_.masks_.logic(Op::kOr, a, b); }
  V select(M m, V a, V b) { return s_.masks_.blend(m, a, b); }

  V where(M m, V a) {
    if (!has_avx512()) return and_(a, m);
    return made(s_.code_.define(RegClass::kVec, width_, single_ ? X86::vmovaps : X86::vmovapd,
                                {vreg(a.reg, width_)}, m.reg, true));
  }

  V scalef(V a, V n) { return two(single_ ? X86::vscalefps : X86::vscalefpd, a, n); }
  V scalef_where(M m, V a, V n) {
    return made(s_.code_.define(RegClass::kVec, width_, single_ ? X86::vscalefps : X86::vscalefpd,
                                {vreg(a.reg, width_), vreg(n.reg, width_)}, m.reg, true));
  }
  V getexp(V a) { return one(single_ ? X86::vgetexpps : X86::vgetexppd, a); }
  V getmant(V a) {
    // Fixed by: x86.
    constexpr int kAroundOneNanIfNegative = 0x0f;  // and 1, not -1, for -0
    return immediate(single_ ? X86::vgetmantps : X86::vgetmantpd, a, kAroundOneNanIfNegative);
  }
  V fraction(V a) {
    // Fixed by: x86.
    constexpr int kFloorQuietly = 0x09;
    return immediate(single_ ? X86::vreduceps : X86::vreducepd, a, kFloorQuietly);
  }

  template <class T>
  V lookup16(const T& table, V i);
  template <class Make>
  V slow_path(M m, V v, const Make& make);

 private:
  M compared(V a, V b, int predicate) {
    return {s_.code_.define(has_avx512() ? RegClass::kMask : RegClass::kVec, width_,
                            single_ ? X86::vcmpps : X86::vcmppd,
                            {vreg(a.reg, width_), vreg(b.reg, width_), imm(predicate)}),
            DType::kBool, size_of(type_)};
  }
  Reg part_of_table(int32_t at, int width) { return s_.code_.load_pool(width, X86::vmovups, at); }
  V gathered(int32_t at, V i);
};

/// table[low four bits of i].
template <class T>
Value MathEmitter::lookup16(const T& table, V i) {
  std::array<uint64_t, 16> wide_bits{};
  std::array<uint32_t, 16> bits{};
  for (size_t k = 0; k < 16; ++k) {
    wide_bits[k] = bits_of(DType::kF64, static_cast<double>(table[k]), 0);
    bits[k] = static_cast<uint32_t>(bits_of(DType::kF32, static_cast<double>(table[k]), 0));
  }
  CodeWriter& c = s_.code_;
  const int32_t at = single_ ? c.pool(bits.data(), 64) : c.pool(wide_bits.data(), 128);
  const auto in = [](Reg r, int w) { return vreg(r, w); };
  if (has_avx512() && single_) {
    return made(
        c.define(RegClass::kVec, 64, X86::vpermps, {in(i.reg, 64), in(part_of_table(at, 64), 64)}));
  }
  if (has_avx512()) {
    return made(c.update(RegClass::kVec, 64, part_of_table(at, 64), X86::vpermt2pd,
                         {in(i.reg, 64), in(part_of_table(at + 64, 64), 64)}));
  }
  if (!single_) return gathered(at, i);
  const Reg low =
      c.define(RegClass::kVec, 32, X86::vpermps, {in(i.reg, 32), in(part_of_table(at, 32), 32)});
  const Reg high = c.define(RegClass::kVec, 32, X86::vpermps,
                            {in(i.reg, 32), in(part_of_table(at + 32, 32), 32)});
  const Reg fourth = c.define(RegClass::kVec, 32, X86::vpslld, {in(i.reg, 32), imm(28)});
  return made(
      c.define(RegClass::kVec, 32, X86::vblendvps, {in(low, 32), in(high, 32), in(fourth, 32)}));
}

Value MathEmitter::gathered(int32_t at, V i) {
  CodeWriter& c = s_.code_;
  Mem pool;
  pool.pool = at;
  Mem m;
  m.base = c.define(RegClass::kGpr, 8, X86::lea, {mem(pool)});
  m.index = and_(i, constant_bits(15)).reg;
  m.scale = 8;
  Operand address = mem(m);
  address.width = static_cast<uint8_t>(width_);
  const Reg result = c.make(RegClass::kVec), ones = c.make(RegClass::kVec);
  c.emit(X86::vpcmpeqd, {vreg(ones, width_), vreg(ones, width_), vreg(ones, width_)});
  c.emit(X86::vxorps, {vreg(result, 16), vreg(result, 16), vreg(result, 16)});
  c.emit(X86::vgatherqpd, {vreg(result, width_), address, vreg(ones, width_)});
  return made(result);
}

/// m ? make() : v, jumping over make() where no lane needs it.
template <class Make>
Value MathEmitter::slow_path(M m, V v, const Make& make) {
  CodeWriter& c = s_.code_;
  const int skip = c.lir.label();
  const Reg result = c.make(RegClass::kVec);
  c.copy(result, v.reg, RegClass::kVec);
  if (has_avx512()) {
    c.emit(X86::kortestq, {kreg(m.reg), kreg(m.reg)});
  } else {
    const Reg bits = c.define(RegClass::kGpr, 4, X86::vpmovmskb, {vreg(m.reg, width_)});
    c.emit(X86::test, {greg(bits, 4), greg(bits, 4)});
  }
  c.emit(Pseudo::jump_eq, {imm(skip)});
  s_.open(Scope::kBranch, 0, false);
  const V chosen = select(m, make(), made(result));
  c.copy(result, chosen.reg, RegClass::kVec);
  const Scope branch = s_.close();
  c.splice(c.top().body, branch.pre);
  c.splice(c.top().body, branch.body);
  c.emit(Pseudo::label, {imm(skip)});
  c.rewritten(result);
  return made(result);
}

Value Calls::call(const ir::Expr& e) {
  const ir::Function& fn = *e->fn;
  const Value x = value(e->args[0]);
  const Value y = e->args.size() > 1 ? value(e->args[1]) : x;
  if (is_int(e->type) && fn.expansion == ir::Expansion::kAbs) {
    const Value zero = vectors_.constant_bits(e->type, 0);
    return arithmetic_.apply(Op::kMax, x, arithmetic_.apply(Op::kSub, zero, x));
  }
  if (is_narrow_float(e->type)) {
    const Value a = converter_.to_single(x), b = converter_.to_single(y);
    return converter_.converted(call(fn, a, b), e->type);
  }
  return call(fn, x, y);
}

Value Calls::call(const ir::Function& fn, const Value& x, const Value& y) {
  MathEmitter b(*this, x.type);
  if (x.type == DType::kF32) return expand<float>(b, fn.expansion, x, y);
  if (x.type == DType::kF64) return expand<double>(b, fn.expansion, x, y);
  refuse("there is no expansion of " + std::string(fn.name) + " on " +
         std::string(name_of(x.type)));
}

}  // namespace hone::jit
