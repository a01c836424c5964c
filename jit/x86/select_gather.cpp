// SPDX-License-Identifier: Apache-2.0
// Elements that do not lie together, and elements that may be touched only on a condition.
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "jit/x86/select_context.h"

namespace hone::jit {

using ir::Op;

namespace {

bool is_zero(const ir::Expr& e) {
  return (e->op == Op::kFloat && e->f == 0) || (e->op == Op::kInt && e->i == 0);
}

}  // namespace

/// Runs `body` with one lane, the vector loop's variable being that of lane `i`.
template <class Body>
void Selector::at_lane(int i, const Body& body) {
  const Lanes outer = lanes_;
  Binding saved;
  if (outer.loop >= 0) {
    saved = bindings_[outer.loop];
    bindings_[outer.loop] = {true, false, saved.base + Affine::of(i)};
  }
  lanes_ = {};
  body();
  lanes_ = outer;
  if (outer.loop >= 0) bindings_[outer.loop] = saved;
}

/// In a vector loop, once for each line that the lanes are on: for the first lane alone where how
/// many there are is known at the call only.
void Selector::prefetch(const ir::Stmt& s) {
  if (nest_.buffers[s.id].home == ir::Home::kRegisters) return;
  const auto fetch = [&](const Affine& at) {
    const Mem m = address(s.id, at);
    if (!failed()) code.emit(X86::prefetcht0, {mem(m)});
  };
  if (lanes_.loop < 0) return fetch(affine(s.offset));
  constexpr int64_t kLine = 64;
  const int lanes = std::max(1, lanes_.active);
  Affine offset;
  const bool together = lane_index(s.offset, offset);
  const Affine stride = offset.coefficient_of(Factor::make(Factor::kLane, 0));
  int64_t step = 1;
  if (together && stride.is_constant()) {
    const int64_t bytes = std::abs(stride.constant) * size_of(nest_.buffers[s.id].type);
    step = bytes == 0 ? lanes : std::max<int64_t>(1, kLine / bytes);
  }
  for (int64_t i = 0; i < lanes && !failed(); i += step) {
    at_lane(static_cast<int>(i), [&] { fetch(affine(s.offset)); });
  }
}

/// Replaces lane `i` of the vector in `reg` by the element at `m`.
void Selector::insert_element(Reg reg, int i, const Mem& m, DType type) {
  const int w = width(type), size = size_of(type);
  const X86 op = size == 1   ? X86::vpbroadcastb
                 : size == 2 ? X86::vpbroadcastw
                 : size == 4 ? X86::vbroadcastss
                 : w == 16   ? X86::vmovddup
                             : X86::vbroadcastsd;
  if (wide()) {
    const Reg bit = code.define(RegClass::kMask, 8, X86::kmovq,
                                {greg(constant_gpr(static_cast<int64_t>(uint64_t{1} << i)))});
    code.emit(op, {vreg(reg, w), mem(m)}, bit);
    return;
  }
  const Reg all = code.make(RegClass::kVec);
  code.emit(op, {vreg(all, w), mem(m)});
  insert_broadcast(reg, i, all, type);
}

/// AVX2: lane `i` of `reg` from the same lane of `all`.
void Selector::insert_broadcast(Reg reg, int i, Reg all, DType type) {
  const int w = width(type), size = size_of(type);
  if (size >= 4) {
    code.emit(size == 4 ? X86::vblendps : X86::vblendpd,
              {vreg(reg, w), vreg(reg, w), vreg(all, w), imm(1 << i)});
    return;
  }
  std::vector<uint8_t> mask(w, 0);
  for (int b = 0; b < size; ++b) mask[i * size + b] = 0xff;
  const Reg chosen = code.load_pool(w, X86::vmovups, code.pool(mask.data(), w));
  code.emit(X86::vpblendvb, {vreg(reg, w), vreg(reg, w), vreg(all, w), vreg(chosen, w)});
}

Value Selector::load_gather(const ir::Expr& e) {
  if (lanes_.active < 0 || lanes_.condition.valid()) {
    refuse("a gather under a mask known at the call");
    return {};
  }
  if (nest_.buffers[e->id].home == ir::Home::kRegisters) {
    refuse("register tile " + nest_.buffers[e->id].name + " is read at an index from memory");
    return {};
  }
  const Value elements = assembled(e->id, [&](int i) {
    Mem m;
    at_lane(i, [&] { m = address(e->id, affine(e->args[0])); });
    return m;
  });
  return loaded(elements, e->id);
}

/// A vector of elements at addresses of their own: 16 bytes at a time, element after element.
template <class AddressOf>
Value Selector::assembled(int buffer, const AddressOf& address_of) {
  const DType type = element_type(buffer);
  const int size = size_of(type), per = 16 / size, w = width(type);
  const auto element = [&](Reg quarter, int within, const Mem& m) {
    const Operand at = mem(m);
    const auto put = [&](X86 op, const Operand& where) {
      return code.load(RegClass::kVec, 16, op, at, buffer, {}, vreg(quarter, 16), where);
    };
    if (!quarter.valid()) {
      const X86 first = size == 4 ? X86::vmovss : size == 8 ? X86::vmovsd : broadcast_of(size, 16);
      return code.load(RegClass::kVec, 16, first, at, buffer);
    }
    switch (size) {
      case 1:
        return put(X86::vpinsrb, imm(within));
      case 2:
        return put(X86::vpinsrw, imm(within));
      case 4:
        return put(X86::vinsertps, imm(within << 4));
      default:
        return put(X86::vmovhpd, {});
    }
  };
  Reg all;
  for (int q = 0; q * per < lanes_.active && !failed(); ++q) {
    Reg quarter;
    for (int i = 0; i < per && q * per + i < lanes_.active && !failed(); ++i) {
      quarter = element(quarter, i, address_of(q * per + i));
    }
    all = q == 0 ? quarter
                 : code.define(RegClass::kVec, w, w == 64 ? X86::vinsertf32x4 : X86::vinsertf128,
                               {vreg(all, w), vreg(quarter, 16), imm(q)});
  }
  return {all, type, size};
}

Value Selector::load_strided(int buffer, const Affine& first, const Affine& stride, Reg mask) {
  if (lanes_.active < 0 || lanes_.condition.valid() || mask.valid()) {
    if (stride.is_constant() &&
        gathers_under_mask(size_of(element_type(buffer)), stride.constant)) {
      return gathered(buffer, first, stride.constant, mask.valid() ? mask : active_mask());
    }
    refuse("elements of " + nest_.buffers[buffer].name +
           " that do not lie together are read under a mask");
    return {};
  }
  Value spread;
  if (stride.is_constant() && load_spread(buffer, first, stride.constant, spread)) return spread;
  return assembled(buffer, [&](int i) { return address(buffer, first + scaled(stride, i)); });
}

/// True where elements so far apart can be read of some lanes only.
bool Selector::gathers_under_mask(int size, int64_t stride) const {
  constexpr int64_t kFar = int64_t{1} << 25;  // times the lanes, an index of 32 bits
  return wide() && size >= 4 && std::abs(stride) < kFar;
}

/// AVX-512: elements `stride` apart, of the lanes in the mask; the others are 0.
Value Selector::gathered(int buffer, const Affine& first, int64_t stride, Reg mask) {
  const DType type = element_type(buffer);
  const int size = size_of(type), w = width(type);
  const int index_width = std::max(16, w * 4 / size);
  std::vector<uint8_t> numbers(static_cast<size_t>(index_width), 0);
  for (int i = 0; i < lanes_.count; ++i) {
    const auto at = static_cast<int32_t>(i * stride);
    std::memcpy(&numbers[static_cast<size_t>(i) * sizeof at], &at, sizeof at);
  }
  const Mem start = address(buffer, first);
  if (failed()) return {};
  Mem m;
  m.base = code.define(RegClass::kGpr, 8, X86::lea, {mem(start)});
  m.index = code.load_pool(index_width, X86::vmovups, code.pool(numbers.data(), index_width));
  m.scale = static_cast<uint8_t>(size);
  // The instruction ends with an empty mask.
  const Reg left = code.make(RegClass::kMask), reg = code.make(RegClass::kVec);
  code.copy(left, mask, RegClass::kMask);
  code.emit(X86::vxorps, {vreg(reg, 16), vreg(reg, 16), vreg(reg, 16)});
  code.emit(size == 4 ? X86::vgatherdps : X86::vgatherdpd, {vreg(reg, w), mem(m, index_width)},
            left);
  return {reg, type, size};
}

/// A store, one lane after the other.
void Selector::store_each(const ir::Stmt& s) {
  if (lanes_.active < 0 || lanes_.condition.valid()) {
    return refuse("elements of " + nest_.buffers[s.id].name +
                  " that do not lie together are written under a mask");
  }
  const int active = lanes_.active;
  for (int i = 0; i < active && !failed(); ++i) at_lane(i, [&] { store(s); });
}

void Selector::store_strided(int buffer, const Affine& first, const Affine& stride,
                             const Value& value) {
  if (lanes_.partial() && (lanes_.active < 0 || lanes_.condition.valid())) {
    return refuse("elements of " + nest_.buffers[buffer].name +
                  " that do not lie together are written under a mask");
  }
  const Value v = stored(value);
  if (failed()) return;
  for (int i = 0; i < lanes_.active && !failed(); ++i) {
    store_lane(address(buffer, first + scaled(stride, i)), v, i);
  }
  code.clobber(buffer);
}

/// The 16 bytes of a vector that hold lane `i`; `within` becomes its number there.
Reg Selector::quarter_of(const Value& v, int i, int& within) {
  const int per = 16 / size_of(v.type);
  const int w = width(v.type);
  within = i % per;
  if (i < per) return v.reg;
  const X86 op = w == 64 ? X86::vextractf32x4 : X86::vextractf128;
  return code.define(RegClass::kVec, 16, op, {vreg(v.reg, w), imm(i / per)});
}

void Selector::store_lane(const Mem& m, const Value& v, int i) {
  int within = 0;
  const Operand x = vreg(quarter_of(v, i, within), 16);
  if (failed()) return;
  switch (size_of(v.type)) {
    case 1:
      code.emit(X86::vpextrb, {mem(m), x, imm(within)});
      return;
    case 2:
      code.emit(X86::vpextrw, {mem(m), x, imm(within)});
      return;
    case 4:
      if (within == 0) {
        code.emit(X86::vmovss, {mem(m), x});
      } else {
        code.emit(X86::vpextrd, {mem(m), x, imm(within)});
      }
      return;
    default:
      if (within == 0) {
        code.emit(X86::vmovsd, {mem(m), x});
      } else {
        code.emit(X86::vmovhpd, {mem(m), x});
      }
  }
}

/// An element that exists only where a condition holds.
Value Selector::load_guarded(const ir::Expr& e) {
  bool holds = false;
  if (decided(e->args[1], holds)) return holds ? load_certain(e) : value(e->args[2]);
  const ir::NestBuffer& b = nest_.buffers[e->id];
  const int size = size_of(b.type);
  if (b.home == ir::Home::kRegisters) {
    refuse("register tile " + b.name + " is read on a condition");
    return {};
  }
  Affine offset;
  bool together = lane_index(e->args[0], offset);
  if (together) {
    const Affine stride = offset.coefficient_of(Factor::make(Factor::kLane, 0));
    together = stride.is_constant() && (stride.constant == 1 || (stride.constant == 0 && wide()));
  }
  const bool whole = lanes_.count * size >= 16;
  if (lanes_.count == 1 || !together || (!wide() && (size < 4 || !whole))) {
    return load_branched(e);
  }
  const Value mask = value(e->args[1]);
  if (failed()) return {};
  Value v;
  if (wide()) {
    Reg k = mask.reg;
    if (lanes_.partial()) {
      k = mask_logic(Op::kAnd, mask, {active_mask(), DType::kBool, 0}).reg;
    } else if (!whole) {
      k = mask_logic(Op::kAnd, mask, {lane_bits(lanes_.count), DType::kBool, 0}).reg;
    }
    v = load_memory(e->id, offset, k);
  } else {
    const Affine first = offset.without(Factor::make(Factor::kLane, 0));
    const int w = width(b.type);
    const Value m = as_element(mask, size);
    v = {code.load(RegClass::kVec, w, size == 4 ? X86::vmaskmovps : X86::vmaskmovpd,
                   mem(address(e->id, first)), e->id, {}, vreg(m.reg, w)),
         element_type(e->id), size};
  }
  v = loaded(v, e->id);
  if (is_zero(e->args[2])) return v;
  return blend(mask, v, value(e->args[2]));
}

/// The same, lane by lane with a branch each.
Value Selector::load_branched(const ir::Expr& e) {
  const ir::NestBuffer& b = nest_.buffers[e->id];
  if (lanes_.active < 0 || lanes_.condition.valid()) {
    refuse("a guarded read of " + b.name + " under a mask known at the call");
    return {};
  }
  const Value otherwise = stored(value(e->args[2]));
  if (failed()) return {};
  const Reg reg = code.make(RegClass::kVec);
  code.copy(reg, otherwise.reg, RegClass::kVec);
  for (int i = 0; i < lanes_.active && !failed(); ++i) {
    const int skip = code.lir.label();
    Mem m;
    const Lanes lanes = lanes_;
    at_lane(i, [&] {
      branch_unless(e->args[1], skip);
      open(Scope::kBranch, 0, false);
      m = address(e->id, affine(e->args[0]));
    });
    if (lanes.count == 1) {
      const Reg element = broadcast_load(m, b.type, e->id, {});
      code.copy(reg, element, RegClass::kVec);
    } else {
      insert_element(reg, i, m, b.type);
    }
    const Scope branch = close();
    code.splice(code.top().body, branch.pre);
    code.splice(code.top().body, branch.body);
    code.emit(Pseudo::label, {imm(skip)});
  }
  code.rewritten(reg);
  return loaded({reg, element_type(e->id), size_of(b.type)}, e->id);
}

}  // namespace hone::jit
