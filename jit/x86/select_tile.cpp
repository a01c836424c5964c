// SPDX-License-Identifier: Apache-2.0
// Buffers in registers: elements [offset, offset + lanes) that are accessed together share a
// vector register.
#include "jit/x86/select_context.h"

namespace hone::jit {

void Selector::touch_tiles(uint64_t written) {
  for (size_t b = 0; b < tiles_.size(); ++b) {
    if (!(written & CodeWriter::buffer_bit(static_cast<int>(b)))) continue;
    for (const TileGroup& g : tiles_[b].groups) code.rewritten(g.reg);
    forget_transposed(static_cast<int>(b));
  }
}

void Selector::forget_transposed(int buffer) {
  std::erase_if(transposed_, [&](const Transposed& t) { return t.buffer == buffer; });
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
    tile.group_at[e] = static_cast<int32_t>(tile.groups.size());
  }
  const int used = static_cast<int>(end - offset);
  tile.groups.push_back({offset, lanes_.count, code.make_variable(), used});
  // A few spills are a matter of taste; beyond, a tile belongs in memory.
  const int most = 4 * target_.vector_registers();
  if (static_cast<int>(tile.groups.size()) > most) {
    refuse("register tile " + nest_.buffers[buffer].name + " needs more than " +
           std::to_string(most) + " registers; make it smaller, or put it in scratch");
  }
  return tile.groups.back();
}

/// True when none of the elements at hand has a register yet.
bool Selector::is_free(int buffer, int64_t offset) {
  for (int i = 0; i < (lanes_.active > 0 ? lanes_.active : lanes_.count); ++i) {
    if (tile_group(buffer, offset + i) != nullptr) return false;
  }
  return true;
}

/// True when an access of the lanes at hand is this group and no more: groups of equal width may
/// hold fewer elements.
bool Selector::is_whole(int buffer, const TileGroup& group, int64_t offset) {
  const int64_t last = offset + (lanes_.active > 0 ? lanes_.active : lanes_.count) - 1;
  return group.offset == offset && group.lanes == lanes_.count &&
         (lanes_.active < 0 || tile_group(buffer, last) == &group);
}

/// Code that never runs, as loops that end early leave it, may name elements that there are not.
bool Selector::is_in_tile(int buffer, int64_t offset) {
  const ir::NestBuffer& b = nest_.buffers[buffer];
  if (offset >= 0 && offset < b.max_bytes / size_of(b.type)) return true;
  refuse("a part of the loops over register tile " + b.name +
         " that never runs lies outside of it; use other factors, or put it in scratch");
  return false;
}

Value Selector::load_tile(int buffer, const Affine& offset) {
  const int32_t lane = Factor::make(Factor::kLane, 0);
  const Affine stride = offset.coefficient_of(lane);
  const Affine first = offset.without(lane);
  const DType type = element_type(buffer);
  const std::string& name = nest_.buffers[buffer].name;
  if (!first.is_constant() || !stride.is_constant()) {
    refuse("register tile " + name +
           " is read at an index known only at run time; unroll its loops");
    return {};
  }
  if (!is_in_tile(buffer, first.constant)) return {};
  const TileGroup* group = tile_group(buffer, first.constant);
  if (group == nullptr) {
    refuse("register tile " + name + " is read before it is written");
    return {};
  }
  if (stride.constant == 0 || lanes_.count == 1) {
    if (lanes_.count == 1 && group->lanes == 1) return {group->reg, type, size_of(type)};
    return tile_element(*group, type, static_cast<int>(first.constant - group->offset));
  }
  if (stride.constant != 1) return load_tile_across(buffer, first.constant, stride.constant);
  if (is_whole(buffer, *group, first.constant)) return {group->reg, type, size_of(type)};
  return gather_tile(buffer, first.constant, 1);
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
  if (!is_in_tile(s.id, first.constant)) return;
  const bool reduced = s.reduce != ir::Reduce::kNone;
  if (stride.constant == 0 && lanes_.loop >= 0 && reduced) return store_across(s, offset);
  TileGroup* group = tile_group(s.id, first.constant);
  if (reduced && group == nullptr) {
    return refuse("register tile " + name + " is added to before it is written");
  }
  const bool plain = stride.constant == 1 || lanes_.count == 1;
  if (!plain || (group != nullptr ? !is_whole(s.id, *group, first.constant)
                                  : !is_free(s.id, first.constant))) {
    // Not a register of its own: element by element.
    const Value v =
        stored(reduced ? accumulated(loaded(load_tile(s.id, offset), s.id), s) : value(s.value));
    if (!failed()) scatter_tile(s.id, first.constant, stride.constant, v);
    return;
  }
  if (group == nullptr) group = &new_tile_group(s.id, first.constant);
  const Reg reg = group->reg;
  // Elements past the end of this loop keep what they have.
  const bool ends_early = reduced && (lanes_.active < 0 || lanes_.active < group->used);
  if (lanes_.condition.valid() || nest_.buffers[s.id].type == DType::kBool) {
    return store_tile_slowly(s, reg, ends_early);
  }
  if (!reduced) return assign_value(reg, s.value);
  if (dot_.row != nullptr) {
    // Sums of what is loaded under a mask, zeros, do no harm but where the other factor is
    // infinite.
    const bool masked = ends_early && is_float(nest_.buffers[s.id].type);
    dot_add_to(reg, s, masked ? active_mask() : Reg{}, true);
    code.rewritten(reg);
    return;
  }
  if (s.reduce == ir::Reduce::kSum && is_product(s.value)) {
    const Value a = value(s.value->args[0]), b = value(s.value->args[1]);
    if (failed()) return;
    multiply_add_to(reg, a, b, false, ends_early ? active_mask() : Reg{});
    code.rewritten(reg);
    return;
  }
  if (ends_early) return store_tile_slowly(s, reg, true);
  assign(reg, accumulated({reg, nest_.buffers[s.id].type, size_of(nest_.buffers[s.id].type)}, s));
}

/// Bools, which tiles hold as bytes; and values that only some lanes take.
void Selector::store_tile_slowly(const ir::Stmt& s, Reg reg, bool ends_early) {
  const DType type = element_type(s.id);
  const Value old{reg, type, size_of(type)};
  Value v =
      stored(s.reduce == ir::Reduce::kNone ? value(s.value) : accumulated(loaded(old, s.id), s));
  if (failed()) return;
  if (ends_early || lanes_.condition.valid()) {
    const Reg taken = ends_early ? active_mask() : lanes_.condition;
    v = blend({taken, DType::kBool, 0}, v, {reg, v.type, v.element});
  }
  assign(reg, v);
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
