// SPDX-License-Identifier: Apache-2.0
// Buffers in registers: elements [offset, offset + lanes) that are accessed together share a
// vector register.
#include "jit/x86/select_context.h"

namespace hone::jit {

void Selector::touch_tiles(uint64_t written) {
  for (size_t b = 0; b < tiles_.size(); ++b) {
    if (!(written & CodeWriter::buffer_bit(static_cast<int>(b)))) continue;
    for (const TileGroup& g : tiles_[b].groups) code.rewritten(g.reg);
  }
}

TileGroup* Selector::tile_group(int buffer, int64_t offset) {
  Tile& tile = tiles_[buffer];
  if (offset < 0 || offset >= static_cast<int64_t>(tile.group_at.size())) return nullptr;
  const int32_t at = tile.group_at[offset];
  return at < 0 ? nullptr : &tile.groups[at];
}

TileGroup& Selector::new_tile_group(int buffer, int64_t offset) {
  Tile& tile = tiles_[buffer];
  const int64_t end = offset + (lanes_.active > 0 ? lanes_.active : lanes_.count);
  if (static_cast<int64_t>(tile.group_at.size()) < end) tile.group_at.resize(end, -1);
  for (int64_t e = offset; e < end; ++e) {
    if (tile.group_at[e] >= 0) {
      refuse("register tile " + nest_.buffers[buffer].name +
             " is accessed in vectors that overlap; split its loops alike");
    }
    tile.group_at[e] = static_cast<int32_t>(tile.groups.size());
  }
  tile.groups.push_back({offset, lanes_.count, code.make(RegClass::kVec)});
  ++code.pinned_vectors;
  return tile.groups.back();
}

/// True when an access of the lanes at hand is exactly this group.
bool Selector::is_whole(const TileGroup& group, int64_t offset) const {
  return group.offset == offset && group.lanes == lanes_.count;
}

Value Selector::load_tile(int buffer, const Affine& offset) {
  const int32_t lane = Factor::make(Factor::kLane, 0);
  const Affine stride = offset.coefficient_of(lane);
  const Affine first = offset.without(lane);
  const DType type = nest_.buffers[buffer].type;
  const std::string& name = nest_.buffers[buffer].name;
  if (!first.is_constant() || !stride.is_constant()) {
    refuse("register tile " + name +
           " is read at an index known only at run time; unroll its loops");
    return {};
  }
  const TileGroup* group = tile_group(buffer, first.constant);
  if (group == nullptr) {
    refuse("register tile " + name + " is read before it is written");
    return {};
  }
  if (stride.constant == 0 && lanes_.count > 1) {
    return tile_element(*group, type, static_cast<int>(first.constant - group->offset));
  }
  if (stride.constant != 1 && lanes_.count > 1) {
    return load_tile_across(buffer, first.constant, stride.constant);
  }
  if (is_whole(*group, first.constant)) return {group->reg, type, size_of(type)};
  if (lanes_.count == 1) {
    return tile_element(*group, type, static_cast<int>(first.constant - group->offset));
  }
  refuse("register tile " + name + " is read in other vectors than it is written in");
  return {};
}

void Selector::store_tile(const ir::Stmt& s, const Affine& offset) {
  const int32_t lane = Factor::make(Factor::kLane, 0);
  const Affine stride = offset.coefficient_of(lane);
  const Affine first = offset.without(lane);
  const std::string& name = nest_.buffers[s.id].name;
  if (!first.is_constant() || !stride.is_constant()) {
    return refuse("register tile " + name +
                  " is written at an index known only at run time; unroll its loops");
  }
  if (stride.constant == 0 && lanes_.loop >= 0 && s.reduce != ir::Reduce::kNone) {
    return store_across(s, offset);
  }
  if (stride.constant != 1 && lanes_.count > 1) {
    return refuse("register tile " + name + " is written across its vectors");
  }
  TileGroup* group = tile_group(s.id, first.constant);
  if (s.reduce == ir::Reduce::kNone) {
    if (group != nullptr && !is_whole(*group, first.constant)) {
      if (lanes_.count == 1) return set_tile_element(s.id, first.constant, value(s.value));
      return refuse("register tile " + name + " is written in vectors that overlap");
    }
    const bool fresh = group == nullptr;
    if (fresh) group = &new_tile_group(s.id, first.constant);
    return assign_value(group->reg, s.value);
  }
  if (group == nullptr)
    return refuse("register tile " + name + " is added to before it is written");
  if (!is_whole(*group, first.constant)) {
    if (lanes_.count > 1) {
      return refuse("register tile " + name +
                    " is added to in other vectors than it is written in");
    }
    const Value old = load_tile(s.id, first);
    return set_tile_element(s.id, first.constant, accumulated(old, s));
  }
  const Reg reg = group->reg;
  if (s.reduce == ir::Reduce::kSum && is_product(s.value)) {
    const Value a = value(s.value->args[0]), b = value(s.value->args[1]);
    if (failed()) return;
    multiply_add_to(reg, a, b, false);
    code.rewritten(reg);
    return;
  }
  assign(reg, accumulated({reg, nest_.buffers[s.id].type}, s));
}

void Selector::assign_value(Reg reg, const ir::Expr& e) {
  const bool zero = (e->op == ir::Op::kFloat && e->f == 0) || (e->op == ir::Op::kInt && e->i == 0);
  if (!zero || e->type == DType::kBool) return assign(reg, value(e));
  code.emit(X86::vxorps, {vreg(reg, 16), vreg(reg, 16), vreg(reg, 16)});
  code.rewritten(reg);
}

/// Puts `v` into `reg`; where `v` was just computed, the computation is pointed there instead.
void Selector::assign(Reg reg, const Value& v) {
  if (failed()) return;
  if (v.reg != reg && !code.retarget(v.reg, reg)) code.copy(reg, v.reg, RegClass::kVec);
  code.rewritten(reg);
}

}  // namespace hone::jit
