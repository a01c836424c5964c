// SPDX-License-Identifier: Apache-2.0
// Register tiles read along the other axis than they were written, and single elements of them.
#include "jit/x86/select_context.h"

namespace hone::jit {

/// One element of a group in all lanes.
Value Selector::tile_element(const TileGroup& group, DType type, int lane) {
  const int size = size_of(type);
  const Lanes outer = lanes_;
  lanes_.count = group.lanes;
  int within = 0;
  Reg x = quarter_of({group.reg, type, size}, lane, within);
  lanes_ = outer;
  if (within != 0) {
    constexpr int kHighPair = 0xee, kEach = 0x55;
    if (size == 8) {
      x = code.define(RegClass::kVec, 16, X86::vpshufd, {vreg(x, 16), imm(kHighPair)});
    } else if (size == 4) {
      x = code.define(RegClass::kVec, 16, X86::vpshufd, {vreg(x, 16), imm(within * kEach)});
    } else {
      x = code.define(RegClass::kVec, 16, X86::vpsrldq, {vreg(x, 16), imm(within * size)});
    }
  }
  if (lanes_.count == 1) return {x, type, size};
  const int w = width(type);
  return {code.define(RegClass::kVec, w, broadcast_of(size, w), {vreg(x, 16)}), type, size};
}

/// Writes one element, of a value of one lane.
void Selector::set_tile_element(int buffer, int64_t offset, const Value& v) {
  if (failed()) return;
  TileGroup* group = tile_group(buffer, offset);
  if (group == nullptr) {
    group = &new_tile_group(buffer, offset);
    return assign(group->reg, v);
  }
  if (group->lanes == 1) return assign(group->reg, v);
  const Reg reg = group->reg;
  const int lane = static_cast<int>(offset - group->offset);
  const Lanes outer = lanes_;
  lanes_.count = lanes_.active = group->lanes;
  const int w = width(v.type), size = size_of(v.type);
  if (wide()) {
    const Reg bit = code.define(RegClass::kMask, 8, X86::kmovq,
                                {greg(constant_gpr(static_cast<int64_t>(uint64_t{1} << lane)))});
    code.emit(broadcast_of(size, w), {vreg(reg, w), vreg(v.reg, 16)}, bit);
  } else {
    const Reg all = code.define(RegClass::kVec, w, broadcast_of(size, w), {vreg(v.reg, 16)});
    insert_broadcast(reg, lane, all, v.type);
  }
  lanes_ = outer;
  code.rewritten(reg);
}

Value Selector::load_tile_across(int buffer, int64_t first, int64_t stride) {
  (void)first;
  (void)stride;
  refuse("register tile " + nest_.buffers[buffer].name + " is read across its vectors");
  return {};
}

}  // namespace hone::jit
