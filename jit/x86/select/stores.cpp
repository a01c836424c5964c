// SPDX-License-Identifier: Apache-2.0
#include "jit/x86/select/stores.h"

#include "jit/x86/select/expressions.h"

namespace hone::jit {

using ir::Op;

void Stores::store(const ir::StoreStmt& s) {
  const ir::NestBuffer& b = nest_.buffers[s.buffer];
  Affine offset;
  if (!indices_.lane_index(s.offset, offset)) {
    if (!dots_.active()) return store_each(s);
    refuse("a dot product into elements of " + b.name + " that do not lie together");
  }
  if (lanes_.scan) {
    if (!scans_.store(s, offset)) store_each(s);
    return;
  }
  if (changes_nothing(s)) return;
  if (b.home == ir::Home::kRegisters) {
    store_tile(s, offset);
    return transposes_.forget(s.buffer);
  }
  const bool across = lanes_.loop >= 0 && !offset.has(Factor::make(Factor::kLane, 0));
  if (across && s.reduce != ir::Reduce::kNone) return sums_.store(s, offset);
  Value v;
  if (s.reduce == ir::Reduce::kNone) {
    v = value(s.value);
  } else {
    v = accumulated(masks_.loaded(memory_.load(s.buffer, offset, Reg{}), s.buffer), s);
  }
  const bool reread = s.reduce != ir::Reduce::kNone || any_node(s.value, [&](const ir::Expr& e) {
                        return e->op == Op::kLoad && e->id == s.buffer;
                      });
  memory_.store(s.buffer, offset, v, reread);
}

bool Stores::changes_nothing(const ir::StoreStmt& s) {
  if (s.reduce == ir::Reduce::kNone || s.reduce == ir::Reduce::kLast) return false;
  const ir::Expr& e = s.value;
  bool inside = true;
  return e->op == Op::kLoad && e->guarded && conditions_.decided(e->args[1], inside) && !inside &&
         equal(e->args[2], identity(s.reduce, nest_.buffers[s.buffer].type));
}

Value Stores::accumulated(const Value& old, const ir::StoreStmt& s) {
  if (dots_.active()) return dots_.added(old, s);
  if (s.reduce == ir::Reduce::kSum && is_product(s.value)) {
    const Value a = value(s.value->args[0]), b = value(s.value->args[1]);
    return arithmetic_.fused(Fused::kAdd, a, b, old);
  }
  return arithmetic_.combine(s.reduce, old, value(s.value));
}

void Stores::store_tile(const ir::StoreStmt& s, const Affine& offset) {
  const int32_t lane = Factor::make(Factor::kLane, 0);
  const Affine stride = offset.coefficient_of(lane);
  const Affine first = offset.without(lane);
  const std::string& name = nest_.buffers[s.buffer].name;
  if (!first.is_constant() || !stride.is_constant()) {
    refuse("register tile " + name +
           " is written at an index known only at run time; unroll its loops");
  }
  if (!tiles_.is_in_tile(s.buffer, first.constant)) return;
  const bool reduced = s.reduce != ir::Reduce::kNone;
  if (stride.constant == 0 && lanes_.loop >= 0 && reduced) return sums_.store(s, offset);
  TileGroup* group = tiles_.group_at(s.buffer, first.constant);
  if (reduced && group == nullptr) {
    refuse("register tile " + name + " is added to before it is written");
  }
  const bool plain = stride.constant == 1 || lanes_.count == 1;
  if (!plain || (group != nullptr ? !tiles_.is_whole(s.buffer, *group, first.constant)
                                  : !tiles_.is_free(s.buffer, first.constant))) {
    // Not a register of its own: element by element.
    const Value v = masks_.stored(
        reduced ? accumulated(masks_.loaded(tiles_.load(s.buffer, offset), s.buffer), s)
                : value(s.value));
    tiles_.scatter(s.buffer, first.constant, stride.constant, v);
    return;
  }
  if (group == nullptr) group = &tiles_.new_group(s.buffer, first.constant);
  const Reg reg = group->reg;
  // Elements past the end of this loop keep what they have.
  const bool ends_early = reduced && (lanes_.active < 0 || lanes_.active < group->used);
  if (lanes_.condition.valid() || nest_.buffers[s.buffer].type == DType::kBool) {
    return store_tile_slowly(s, reg, ends_early);
  }
  if (!reduced) return assign_value(reg, s.value);
  if (dots_.active()) {
    // Sums of what is loaded under a mask, zeros, do no harm but where the other factor is
    // infinite.
    const bool masked = ends_early && is_float(nest_.buffers[s.buffer].type);
    dots_.add_to(reg, s, masked ? masks_.active() : Reg{}, true);
    code_.rewritten(reg);
    return;
  }
  if (s.reduce == ir::Reduce::kSum && is_product(s.value)) {
    const Value a = value(s.value->args[0]), b = value(s.value->args[1]);
    arithmetic_.multiply_add_to(reg, a, b, false, ends_early ? masks_.active() : Reg{});
    code_.rewritten(reg);
    return;
  }
  if (ends_early) return store_tile_slowly(s, reg, true);
  if (wide() && add_chosen(s, reg)) return;
  tiles_.assign(
      reg,
      accumulated({reg, nest_.buffers[s.buffer].type, size_of(nest_.buffers[s.buffer].type)}, s));
}

bool Stores::add_chosen(const ir::StoreStmt& s, Reg reg) {
  const ir::Expr& e = s.value;
  const DType type = nest_.buffers[s.buffer].type;
  if (e->op != Op::kSelect || e->type != type || is_narrow_float(type)) return false;
  const ir::Expr nothing = identity(s.reduce, type);
  const bool first = equal(e->args[2], nothing);
  if (!first && !equal(e->args[1], nothing)) return false;
  const ir::Expr& term = e->args[first ? 1 : 2];
  const Value condition = value(e->args[0]);
  const Reg mask = (first ? condition : masks_.negated(condition)).reg;
  if (s.reduce == ir::Reduce::kSum && is_product(term)) {
    const Value a = value(term->args[0]), b = value(term->args[1]);
    arithmetic_.multiply_add_to(reg, a, b, false, mask);
  } else if (!arithmetic_.combine_under(s.reduce, reg, value(term), mask)) {
    return false;
  }
  code_.rewritten(reg);
  return true;
}

void Stores::store_tile_slowly(const ir::StoreStmt& s, Reg reg, bool ends_early) {
  const DType type = element_type(s.buffer);
  const Value old{reg, type, size_of(type)};
  Value v =
      masks_.stored(s.reduce == ir::Reduce::kNone ? value(s.value)
                                                  : accumulated(masks_.loaded(old, s.buffer), s));
  if (ends_early || lanes_.condition.valid()) {
    const Reg taken = ends_early ? masks_.active() : lanes_.condition;
    v = masks_.blend({taken, DType::kBool, 0}, v, {reg, v.type, v.element});
  }
  tiles_.assign(reg, v);
}

void Stores::assign_value(Reg reg, const ir::Expr& e) {
  if (!is_zero(e) || e->type == DType::kBool) return tiles_.assign(reg, value(e));
  code_.emit(X86::vxorps, {vreg(reg, 16), vreg(reg, 16), vreg(reg, 16)});
  code_.rewritten(reg);
}

void Stores::store_each(const ir::StoreStmt& s) {
  if (lanes_.active < 0 || lanes_.condition.valid()) {
    refuse("elements of " + nest_.buffers[s.buffer].name +
           " that do not lie together are written under a mask");
  }
  const int active = lanes_.active;
  for (int i = 0; i < active; ++i) at_lane(i, [&] { store(s); });
}

}  // namespace hone::jit
