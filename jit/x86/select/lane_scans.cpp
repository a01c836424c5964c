// SPDX-License-Identifier: Apache-2.0
#include "jit/x86/select/lane_scans.h"

#include "jit/x86/select/by_size.h"

namespace hone::jit {

bool LaneScans::store(const ir::StoreStmt& s, const Affine& offset) {
  const auto form =
      ir::scan_of(s.value, [&](const ir::Expr& load) { return load->id == s.buffer; });
  const Affine stride = offset.coefficient_of(Factor::make(Factor::kLane, 0));
  const bool side_by_side = stride.is_constant() && stride.constant == 1;
  if (!form || !side_by_side || lanes_.condition.valid()) return false;
  const Value v = prefixes(form->combine, value(form->term));
  const Value before = before_lanes(form->earlier);
  memory_.store(s.buffer, offset, arithmetic_.combine(form->combine, before, v), true);
  return true;
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
  bindings_[lanes_.loop] = {true, false, lane.base};
  const Value out = value(earlier);
  bindings_[lanes_.loop] = lane;
  return out;
}

Value LaneScans::prefixes(ir::Reduce combine, Value v) {
  const Value fill = value(ir::identity(combine, v.type));
  for (int by = 1; by < lanes_.count; by *= 2) {
    v = arithmetic_.combine(combine, moved_up(v, by, fill), v);
  }
  return v;
}

Value LaneScans::moved_up(const Value& v, int by, const Value& fill) {
  const int size = size_of(v.type), w = width(v.type);
  const auto joined = [&](X86 op, const Reg& high, const Reg& low, int count) {
    return code_.define(RegClass::kVec, w, op, {vreg(high, w), vreg(low, w), imm(count)});
  };
  if (wide()) {
    const X86 align = size == 4 ? X86::valignd : X86::valignq;
    return {joined(align, v.reg, fill.reg, w / size - by), v.type, size};
  }
  Reg below = fill.reg;
  if (w == 32) {
    // Each half shifts in what stands below it: `fill` below the lower one, that below the upper.
    // Fixed by: the instruction: the second operand's lower half, then the first one's.
    constexpr int kLowerAboveFill = 0x02;
    below = joined(X86::vperm2i128, v.reg, fill.reg, kLowerAboveFill);
    if (by * size == 16) return {below, v.type, size};
  }
  return {joined(X86::vpalignr, v.reg, below, 16 - by * size), v.type, size};
}

}  // namespace hone::jit
