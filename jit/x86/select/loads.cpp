// SPDX-License-Identifier: Apache-2.0
#include "jit/x86/select/loads.h"

#include <algorithm>
#include <bit>
#include <cstdlib>

#include "jit/ir/integers.h"
#include "jit/x86/select/expressions.h"

namespace hone::jit {

using ir::Op;

/// Lanes that are sooner loaded one by one than gathered under a mask.
/// Tuned on: Zen 5 (AVX-512).
constexpr int kFewLanes = 4;

/// The load `e` of an element that exists.
static ir::Expr without_guard(const ir::Expr& e) {
  ir::Node n = *e;
  n.guarded = false;
  n.args.resize(1);
  return ir::make_node(std::move(n));
}

Value Loads::load(const ir::Expr& e) { return e->guarded ? load_guarded(e) : load_certain(e); }

Value Loads::load_certain(const ir::Expr& e) {
  const ir::NestBuffer& b = nest_.buffers[e->id];
  Affine offset;
  if (!indices_.lane_index(e->args[0], offset)) return load_gather(e);
  if (b.home == ir::Home::kRegisters) return masks_.loaded(tiles_.load(e->id, offset), e->id);
  return masks_.loaded(memory_.load(e->id, offset, Reg{}), e->id);
}

Value Loads::load_guarded(const ir::Expr& e) {
  bool holds = false;
  if (conditions_.decided(e->args[1], holds)) return holds ? load_certain(e) : value(e->args[2]);
  const ir::NestBuffer& b = nest_.buffers[e->id];
  const int size = size_of(b.type);
  if (b.home == ir::Home::kRegisters) {
    refuse("register tile " + b.name + " is read on a condition");
  }
  Affine offset;
  bool together = indices_.lane_index(e->args[0], offset), apart = false;
  const Affine stride = offset.coefficient_of(Factor::make(Factor::kLane, 0));
  if (together) {
    apart = stride.is_constant() && stride.constant > 1 &&
            gathers_.gathers_under_mask(size, stride.constant);
    together = stride.is_constant() && (stride.constant == 1 || (stride.constant == 0 && wide()));
  }
  const bool whole = lanes_.count * size >= 16;
  const bool masked = lanes_.active < 0 || lanes_.condition.valid();
  // One branch for what is read in any other way than as a vector, or cannot be under a mask.
  const bool masks = wide() || (size >= 4 && whole);
  if (lanes_.count > 1 && !masked && !(together && stride.constant == 1 && masks)) {
    ir::Expr common, apart_by_lane;
    split_by_lane(e->args[1], common, apart_by_lane);
    if (!apart_by_lane) {
      const ir::Expr certain = without_guard(e);
      return load_once(e, [&] { return masks_.stored(load_certain(certain)); });
    }
    uint64_t inside = 0;
    if (!loads_by_lane(e->args[0]) && known_lanes(apart_by_lane, inside) &&
        (!apart || std::popcount(inside) <= kFewLanes)) {
      if (inside == 0) return value(e->args[2]);
      if (!common) return load_of_lanes(e, inside);
      return load_behind(common, e, [&] { return masks_.stored(load_of_lanes(e, inside)); });
    }
  }
  // Branches that mostly go one way cost less, unless each lane has much to compute. On AVX2, where
  // positions leave vectors one by one, they do so always.
  if (!(together || apart) && wide() && positions_.is_dear(e->args[0]) &&
      positions_.can_compute(e->args[0], &e->args[1])) {
    const Value mask = value(e->args[1]), otherwise = value(e->args[2]);
    const Value found = positions_.load(e->id, e->args[0], &e->args[1]);
    return masks_.blend(mask, masks_.loaded(found, e->id), otherwise);
  }
  if (lanes_.count == 1 || !(together || apart) || !masks) {
    return load_branched(e);
  }
  if (together && stride.constant == 1 && !masked) {
    ir::Expr common, apart_by_lane;
    split_by_lane(e->args[1], common, apart_by_lane);
    if (!apart_by_lane) {
      return load_once(e, [&] { return memory_.load(e->id, offset, Reg{}); });
    }
    if (common) {
      const ir::Expr rest = ir::with_args(e, {e->args[0], apart_by_lane, e->args[2]});
      return load_behind(common, e, [&] { return masks_.stored(load_guarded(rest)); });
    }
  }
  const Affine first = offset.without(Factor::make(Factor::kLane, 0));
  const Value mask = value(e->args[1]);
  Value v;
  if (wide()) {
    Reg k = mask.reg;
    if (lanes_.partial()) {
      k = masks_.logic(Op::kAnd, mask, {masks_.active(), DType::kBool, 0}).reg;
    } else if (!whole) {
      k = masks_.logic(Op::kAnd, mask, {masks_.lane_bits(lanes_.count), DType::kBool, 0}).reg;
    }
    v = together ? memory_.load(e->id, offset, k) : gathers_.load_strided(e->id, first, stride, k);
  } else {
    const int w = width(b.type);
    const Value m = masks_.as_element(mask, size);
    v = {code_.load(RegClass::kVec, w, size == 4 ? X86::vmaskmovps : X86::vmaskmovpd,
                    mem(addresses_.address(e->id, first)), e->id, {}, vreg(m.reg, w)),
         element_type(e->id), size};
  }
  v = masks_.loaded(v, e->id);
  if (is_zero(e->args[2])) return v;
  return masks_.blend(mask, v, value(e->args[2]));
}

bool Loads::known_lanes(const ir::Expr& condition, uint64_t& inside) {
  inside = 0;
  for (int i = 0; i < lanes_.active; ++i) {
    bool holds = false, known = false;
    at_lane(i, [&] { known = conditions_.decided(condition, holds); });
    if (!known) return false;
    if (holds) inside |= uint64_t{1} << i;
  }
  return true;
}

Value Loads::load_of_lanes(const ir::Expr& e, uint64_t inside) {
  std::vector<Affine> offsets;
  // Lanes outside read what a lane inside does.
  int of = std::countr_zero(inside);
  for (int i = 0; i < lanes_.active; ++i) {
    if ((inside >> i & 1) != 0) of = i;
    Affine offset;
    at_lane(of, [&] { offset = indices_.affine(e->args[0]); });
    offsets.push_back(offset);
  }
  const Value found = masks_.loaded(gathers_.load_each(e->id, offsets), e->id);
  return masks_.blend(masks_.of_lanes(inside), found, value(e->args[2]));
}

void Loads::split_by_lane(const ir::Expr& condition, ir::Expr& common, ir::Expr& apart) const {
  if (condition->op == Op::kAnd) {
    for (const ir::Expr& side : condition->args) split_by_lane(side, common, apart);
    return;
  }
  ir::Expr& part = indices_.depends_on_lane(condition) ? apart : common;
  part = part ? ir::make_binary(Op::kAnd, part, condition) : condition;
}

Reg Loads::read_behind(const ir::Expr& condition, const ir::Expr& e,
                       const std::function<Value()>& load) {
  const Value otherwise = masks_.stored(value(e->args[2]));
  const Reg reg = code_.make(RegClass::kVec);
  code_.copy(reg, otherwise.reg, RegClass::kVec);
  const int skip = code_.lir.label();
  at_lane(0, [&] { integers_.branch_unless(condition, skip); });
  open(Scope::kBranch, 0, false);
  code_.copy(reg, load().reg, RegClass::kVec);
  const Scope branch = close();
  code_.splice(code_.top().body, branch.pre);
  code_.splice(code_.top().body, branch.body);
  code_.emit(Pseudo::label, {imm(skip)});
  code_.rewritten(reg);
  return reg;
}

Value Loads::as_loaded(Reg read, int buffer) {
  return masks_.loaded({read, element_type(buffer), size_of(nest_.buffers[buffer].type)}, buffer);
}

Value Loads::load_behind(const ir::Expr& condition, const ir::Expr& e,
                         const std::function<Value()>& load) {
  return as_loaded(read_behind(condition, e, load), e->id);
}

Value Loads::load_once(const ir::Expr& e, const std::function<Value()>& load) {
  const int32_t lane = Factor::make(Factor::kLane, 0);
  Affine offset;
  std::optional<Opcode> name;
  if (indices_.lane_index(e->args[0], offset)) {
    name = guards_.name_of(e, offset.coefficient_of(lane));
  }
  if (!name) return load_behind(e->args[1], e, load);
  const int w = width(nest_.buffers[e->id].type);
  const Operand at = mem(addresses_.address(e->id, offset.without(lane)));
  Reg read = code_.known_load(w, *name, at);
  if (!read.valid()) {
    read = read_behind(e->args[1], e, load);
    code_.remember(read, w, *name, at, e->id, 0);
  }
  return as_loaded(read, e->id);
}

Value Loads::load_branched(const ir::Expr& e) {
  const ir::NestBuffer& b = nest_.buffers[e->id];
  if (lanes_.active < 0 || lanes_.condition.valid()) {
    refuse("a guarded read of " + b.name + " under a mask known at the call");
  }
  const Value otherwise = masks_.stored(value(e->args[2]));
  const Reg reg = code_.make(RegClass::kVec);
  code_.copy(reg, otherwise.reg, RegClass::kVec);
  for (int i = 0; i < lanes_.active; ++i) {
    const int skip = code_.lir.label();
    Mem m;
    const Lanes lanes = lanes_;
    at_lane(i, [&] {
      integers_.branch_unless(e->args[1], skip);
      open(Scope::kBranch, 0, false);
      m = addresses_.address(e->id, indices_.affine(e->args[0]));
    });
    if (lanes.count == 1) {
      const Reg element = memory_.broadcast_load(m, b.type, e->id, {});
      code_.copy(reg, element, RegClass::kVec);
    } else {
      vectors_.insert_element(reg, i, m, b.type);
    }
    const Scope branch = close();
    code_.splice(code_.top().body, branch.pre);
    code_.splice(code_.top().body, branch.body);
    code_.emit(Pseudo::label, {imm(skip)});
  }
  code_.rewritten(reg);
  return masks_.loaded({reg, element_type(e->id), size_of(b.type)}, e->id);
}

bool Loads::loads_by_lane(const ir::Expr& index) const {
  return ir::any_node(
      index, [&](const ir::Expr& x) { return x->op == Op::kLoad && indices_.depends_on_lane(x); });
}

bool Loads::fits_lanes(const ir::Expr& index) {
  const ir::Expr position = indices_.split(index).apart;
  const auto narrow = position ? ir::narrowest(position) : std::nullopt;
  return narrow && is_computed_narrow(narrow->e);
}

bool Loads::is_computed_narrow(const ir::Expr& e) {
  if (Value low; load_remainder(e, low)) return true;
  if (e->op == Op::kLoad) return !e->guarded;
  if (e->type == DType::kI64 && indices_.depends_on_lane(e)) return false;
  return std::all_of(e->args.begin(), e->args.end(),
                     [&](const ir::Expr& a) { return is_computed_narrow(a); });
}

Value Loads::load_gather(const ir::Expr& e) {
  Value looked_up;
  if (fits_lanes(e->args[0]) && tables_.load(e->id, e->args[0], looked_up)) {
    return masks_.loaded(looked_up, e->id);
  }
  if (lanes_.active < 0 || lanes_.condition.valid()) {
    refuse("a gather under a mask known at the call");
  }
  if (nest_.buffers[e->id].home == ir::Home::kRegisters) {
    refuse("register tile " + nest_.buffers[e->id].name + " is read at an index from memory");
  }
  const auto offset_of = [&](int i) {
    Affine offset;
    at_lane(i, [&] { offset = indices_.affine(e->args[0]); });
    return offset;
  };
  // AVX2 takes each lane out of vectors again, which only what comes from memory is worth.
  const bool in_lanes = wide() || loads_by_lane(e->args[0]);
  if (in_lanes && positions_.is_dear(e->args[0]) && positions_.can_compute(e->args[0], nullptr) &&
      !positions_.known_apart(e->args[0])) {
    return masks_.loaded(positions_.load(e->id, e->args[0], nullptr), e->id);
  }
  if (loads_by_lane(e->args[0])) {
    // One at a time: few of the indices live at once.
    const Value elements =
        gathers_.assembled(e->id, [&](int i) { return addresses_.address(e->id, offset_of(i)); });
    return masks_.loaded(elements, e->id);
  }
  std::vector<Affine> offsets;
  for (int i = 0; i < lanes_.active; ++i) offsets.push_back(offset_of(i));
  return masks_.loaded(gathers_.load_each(e->id, offsets), e->id);
}

bool Loads::load_low_bits(const ir::Expr& e, int bits, Value& out) {
  // Single bits take as long by broadcasts of less than four bytes.
  // Tuned on: Zen 5 (AVX-512).
  constexpr int kFewest = 2;
  if (bits < kFewest) return false;
  const bool shifted = e->op == Op::kShr;
  const ir::Expr& widened = shifted ? e->args[0] : e;
  if (e->type != DType::kI32 || widened->op != Op::kCast) return false;
  const ir::Expr& byte = widened->args[0];
  if (byte->op != Op::kLoad || byte->guarded) return false;
  const ir::NestBuffer& b = nest_.buffers[byte->id];
  if (b.type != DType::kU8 || b.home == ir::Home::kRegisters) return false;
  if (lanes_.active < 2 || lanes_.condition.valid() || loads_by_lane(byte->args[0])) return false;
  Affine first;
  if (indices_.lane_index(byte->args[0], first)) return false;
  std::vector<int64_t> places;
  for (int i = 0; i < lanes_.active; ++i) {
    Affine offset, count;
    bool known = true;
    at_lane(i, [&] {
      offset = indices_.affine(byte->args[0]);
      if (shifted) known = indices_.known_sum(e->args[1], count);
    });
    if (i == 0) first = offset;
    const Affine from_first = offset - first;
    if (!known || from_first.overflow || !from_first.is_constant() || !count.is_constant()) {
      return false;
    }
    if (count.constant < 0 || count.constant + bits > 8) return false;
    places.push_back(8 * from_first.constant + count.constant);
  }
  return spreads_.shift(byte->id, first, places, out);
}

bool Loads::load_remainder(const ir::Expr& e, Value& out) {
  // Fixed by: a byte has as many.
  constexpr int64_t kMostLow = 128;
  if (!is_low_bits(e, kMostLow)) return false;
  const auto by = static_cast<uint64_t>(e->args[1]->i);
  if (!load_low_bits(e->args[0], std::countr_zero(by), out)) return false;
  out = vectors_.op3(X86::vandps, out, vectors_.constant_bits(e->type, by - 1));
  return true;
}

void Loads::prefetch(const ir::PrefetchStmt& s) {
  if (nest_.buffers[s.buffer].home == ir::Home::kRegisters) return;
  const auto fetch = [&](const Affine& at) {
    const Mem m = addresses_.address(s.buffer, at);
    code_.emit(X86::prefetcht0, {mem(m)});
  };
  if (lanes_.loop < 0) return fetch(indices_.affine(s.offset));
  // Fixed by: a cache line.
  constexpr int64_t kLine = 64;
  const int lanes = std::max(1, lanes_.active);
  Affine offset;
  const bool together = indices_.lane_index(s.offset, offset);
  const Affine stride = offset.coefficient_of(Factor::make(Factor::kLane, 0));
  int64_t step = 1;
  if (together && stride.is_constant()) {
    const int64_t bytes = std::abs(stride.constant) * size_of(nest_.buffers[s.buffer].type);
    step = bytes == 0 ? lanes : std::max<int64_t>(1, kLine / bytes);
  }
  for (int64_t i = 0; i < lanes; i += step) {
    at_lane(static_cast<int>(i), [&] { fetch(indices_.affine(s.offset)); });
  }
}

}  // namespace hone::jit
