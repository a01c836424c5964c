// SPDX-License-Identifier: Apache-2.0
#include "jit/x86/select/lane_scans.h"

#include <initializer_list>

#include "jit/x86/select/by_size.h"

namespace hone::jit {

bool LaneScans::store(const ir::StoreStmt& s, const Affine& offset) {
  const auto form =
      ir::scan_of(s.value, [&](const ir::Expr& load) { return load->id == s.buffer; });
  const Affine lane = Affine::of_factor(Factor::make(Factor::kLane, 0));
  const Affine stride = offset.coefficient_of(Factor::make(Factor::kLane, 0));
  const bool up = stride.is_constant() && stride.constant == 1;
  const bool down =
      stride.is_constant() && stride.constant == -1 && lanes_.count * size_of(s.value->type) >= 16;
  if (!form || !(up || down) || lanes_.condition.valid()) return false;
  const Binding outer = bindings_[lanes_.loop];
  if (down) bindings_[lanes_.loop] = {true, -1, outer.base + last_lane()};
  Steps steps{form->combine, down, value(form->term), {}};
  if (form->factor) steps.factor = value(form->factor);
  combine_lanes(steps);
  bindings_[lanes_.loop] = outer;
  Value before;
  if (!before_from_registers(form->earlier, down, before)) before = before_lanes(form->earlier);
  const Value stored = gone_on(steps, before);
  const Affine first = offset.without(Factor::make(Factor::kLane, 0));
  memory_.store(s.buffer, up ? offset : first - last_lane() + lane, stored, true);
  last_ = {s.buffer, stored.reg, steps, before};
  return true;
}

Affine LaneScans::last_lane() const {
  if (lanes_.active >= 0) return Affine::of(lanes_.active - 1);
  return Affine::of_factor(Factor::make(Factor::kReg, lanes_.active_reg.id)) - Affine::of(1);
}

Value LaneScans::filled(const Value& v, const Value& fill) {
  return lanes_.partial() ? masks_.blend({masks_.active(), DType::kBool, 0}, v, fill) : v;
}

void LaneScans::combine_lanes(Steps& s) {
  const Value nothing = value(ir::identity(s.combine, s.term.type));
  Value one;
  if (s.down) s.term = filled(s.term, nothing);
  if (s.factor.reg.valid()) {
    one = value(ir::identity(ir::Reduce::kProd, s.term.type));
    if (s.down) s.factor = filled(s.factor, one);
  }
  for (int by = 1; by < lanes_.count; by *= 2) {
    s.term = gone_on(s, moved(s.term, by, nothing, s.down));
    if (!s.factor.reg.valid()) continue;
    s.factor = arithmetic_.apply(ir::Op::kMul, moved(s.factor, by, one, s.down), s.factor);
  }
}

Value LaneScans::gone_on(const Steps& s, const Value& earlier) {
  if (!s.factor.reg.valid()) return arithmetic_.combine(s.combine, earlier, s.term);
  if (is_float(s.term.type)) {
    return arithmetic_.fused(Fused::kAdd, s.factor, earlier, s.term);
  }
  return arithmetic_.apply(ir::Op::kAdd, arithmetic_.apply(ir::Op::kMul, s.factor, earlier),
                           s.term);
}

Value LaneScans::before_lanes(const ir::Expr& earlier) {
  if (earlier->guarded) {
    Value one;
    at_lane(0, [&] { one = value(earlier); });
    const int w = width(one.type);
    const X86 spread =
        w == 16 && one.element == 8 ? X86::vpbroadcastq : broadcast_of(one.element, w);
    return {code_.define(RegClass::kVec, w, spread, {vreg(one.reg, 16)}), one.type, one.element};
  }
  const Binding lane = bindings_[lanes_.loop];
  bindings_[lanes_.loop] = {true, 0, lane.base};
  const Value out = value(earlier);
  bindings_[lanes_.loop] = lane;
  return out;
}

bool LaneScans::before_from_registers(const ir::Expr& earlier, bool down, Value& out) {
  if (earlier->guarded || earlier->id != last_.buffer || down != last_.steps.down) return false;
  const Binding lane = bindings_[lanes_.loop];
  bindings_[lanes_.loop] = {true, 0, lane.base};
  const Affine at = indices_.affine(earlier->args[0]);
  bindings_[lanes_.loop] = lane;
  const Affine first = down ? at : at - Affine::of(lanes_.count - 1);
  const Reg known = code_.known_load(width(earlier->type), X86::vmovups,
                                     mem(addresses_.address(last_.buffer, first)));
  if (!known.valid() || !(known == last_.reg)) return false;
  Steps last = last_.steps;
  last.term = last_of(last.term, down);
  if (last.factor.reg.valid()) last.factor = last_of(last.factor, down);
  out = gone_on(last, last_.before);
  return true;
}

Value LaneScans::last_of(const Value& v, bool down) {
  const int size = size_of(v.type), w = width(v.type), last = w / size - 1;
  const auto made = [&](X86 op, std::initializer_list<Operand> sources) {
    return Value{code_.define(RegClass::kVec, w, op, sources), v.type, size};
  };
  // Fixed by: the instruction: the number of the last of four in each place, and of the last two.
  constexpr int kLastOfFour = 0xFF, kLastPair = 0xEE;
  const X86 spread = w == 16 && size == 8 ? X86::vpbroadcastq : broadcast_of(size, w);
  if (down) return made(spread, {vreg(v.reg, 16)});
  if (w == 16)
    return made(X86::vpshufd, {vreg(v.reg, w), imm(size == 4 ? kLastOfFour : kLastPair)});
  if (size == 4) {
    const Value places = vectors_.constant_bits(DType::kI32, static_cast<uint64_t>(last));
    return made(X86::vpermps, {vreg(places.reg, w), vreg(v.reg, w)});
  }
  if (w == 32) return made(X86::vpermpd, {vreg(v.reg, w), imm(kLastOfFour)});
  const Value first = made(X86::valignq, {vreg(v.reg, w), vreg(v.reg, w), imm(last)});
  return made(spread, {vreg(first.reg, 16)});
}

Value LaneScans::moved(const Value& v, int by, const Value& fill, bool down) {
  const int size = size_of(v.type), w = width(v.type);
  // Two registers one above the other, from `count` elements or bytes up.
  const auto joined = [&](X86 op, const Reg& high, const Reg& low, int count) {
    return code_.define(RegClass::kVec, w, op, {vreg(high, w), vreg(low, w), imm(count)});
  };
  if (wide()) {
    const X86 align = size == 4 ? X86::valignd : X86::valignq;
    const Reg out =
        down ? joined(align, fill.reg, v.reg, by) : joined(align, v.reg, fill.reg, w / size - by);
    return {out, v.type, size};
  }
  Reg beside = fill.reg;
  if (w == 32) {
    // Each half shifts in what stands below it going up, and above it going down.
    // Fixed by: the instruction: which half of the two operands goes into each half.
    constexpr int kFillThenLower = 0x02, kUpperThenFill = 0x21;
    beside = joined(X86::vperm2i128, v.reg, fill.reg, down ? kUpperThenFill : kFillThenLower);
    if (by * size == 16) return {beside, v.type, size};
  }
  const Reg out = down ? joined(X86::vpalignr, beside, v.reg, by * size)
                       : joined(X86::vpalignr, v.reg, beside, 16 - by * size);
  return {out, v.type, size};
}

}  // namespace hone::jit
