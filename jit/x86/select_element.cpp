// SPDX-License-Identifier: Apache-2.0
// Single elements of register tiles, and accesses that are put together from them.
#include <vector>

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
void Selector::set_tile_element(int buffer, int64_t offset, const Value& value) {
  const Lanes outer = lanes_;
  lanes_ = {};
  const Value v = stored(value);
  lanes_ = outer;
  if (failed()) return;
  forget_transposed(buffer);
  TileGroup* group = tile_group(buffer, offset);
  if (group == nullptr || group->lanes == 1) {
    lanes_ = {};
    const Reg reg = group == nullptr ? new_tile_group(buffer, offset).reg : group->reg;
    assign(reg, v);
    lanes_ = outer;
    return;
  }
  const Reg reg = group->reg;
  const int lane = static_cast<int>(offset - group->offset);
  lanes_.count = lanes_.active = group->lanes;
  set_lane(reg, lane, v);
  lanes_ = outer;
  code.rewritten(reg);
}

/// Lane `lane` of `reg` = the first lane of `v`.
void Selector::set_lane(Reg reg, int lane, const Value& v) {
  const int w = width(v.type), size = size_of(v.type);
  if (wide()) {
    const Reg bit = code.define(RegClass::kMask, 8, X86::kmovq,
                                {greg(constant_gpr(static_cast<int64_t>(uint64_t{1} << lane)))});
    code.emit(broadcast_of(size, w), {vreg(reg, w), vreg(v.reg, 16)}, bit);
    return;
  }
  const Reg all = code.define(RegClass::kVec, w, broadcast_of(size, w), {vreg(v.reg, 16)});
  insert_broadcast(reg, lane, all, v.type);
}

/// Elements of a tile that do not lie in one register, lane by lane.
Value Selector::gather_tile(int buffer, int64_t first, int64_t stride) {
  const DType type = element_type(buffer);
  if (lanes_.active < 0) {
    refuse("register tile " + nest_.buffers[buffer].name +
           " is read under a mask known at the call");
    return {};
  }
  const Reg reg = code.make(RegClass::kVec);
  code.emit(X86::vxorps, {vreg(reg, 16), vreg(reg, 16), vreg(reg, 16)});
  const Lanes outer = lanes_;
  for (int i = 0; i < outer.active; ++i) {
    const int64_t at = first + i * stride;
    const TileGroup* group = tile_group(buffer, at);
    if (group == nullptr) {
      refuse("register tile " + nest_.buffers[buffer].name + " is read before it is written");
      break;
    }
    lanes_ = {};
    const Value v = tile_element(*group, type, static_cast<int>(at - group->offset));
    lanes_ = outer;
    set_lane(reg, i, v);
  }
  lanes_ = outer;
  code.rewritten(reg);
  return {reg, type, size_of(type)};
}

/// Writes lanes of `v` to elements of a tile that are not one register.
void Selector::scatter_tile(int buffer, int64_t first, int64_t stride, const Value& v) {
  if (lanes_.active < 0 || lanes_.condition.valid()) {
    return refuse("register tile " + nest_.buffers[buffer].name +
                  " is written under a mask known at the call");
  }
  const TileGroup whole{0, lanes_.count, v.reg};
  // All elements come first: the first of them may be `v` itself, which the others are taken from.
  const Lanes outer = lanes_;
  std::vector<Value> elements;
  lanes_ = {};
  for (int i = 0; i < outer.active && !failed(); ++i) {
    elements.push_back(tile_element(whole, v.type, i));
  }
  lanes_ = outer;
  for (size_t i = 0; i < elements.size() && !failed(); ++i) {
    set_tile_element(buffer, first + static_cast<int64_t>(i) * stride, elements[i]);
  }
}

}  // namespace hone::jit
