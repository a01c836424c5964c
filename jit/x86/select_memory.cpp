// SPDX-License-Identifier: Apache-2.0
// Vector loads and stores of buffers in memory: whole vectors, broadcasts, parts of vectors. No
// load touches a byte before the first or behind the last of the elements it is for, no store any
// other.
#include "jit/x86/select_context.h"

namespace hone::jit {

namespace {

/// The move whose mask has a bit for each element of `size` bytes.
X86 masked_move_of(int size) {
  switch (size) {
    case 1:
      return X86::vmovdqu8;
    case 2:
      return X86::vmovdqu16;
    case 4:
      return X86::vmovups;
    default:
      return X86::vmovupd;
  }
}

}  // namespace

X86 broadcast_of(int size, int width) {
  switch (size) {
    case 1:
      return X86::vpbroadcastb;
    case 2:
      return X86::vpbroadcastw;
    case 4:
      return X86::vbroadcastss;
    default:
      return width == 16 ? X86::vmovddup : X86::vbroadcastsd;
  }
}

int Selector::width(DType type) const {
  const int bytes = lanes_.count * size_of(type);
  return bytes < 16 ? 16 : bytes;
}

/// AVX-512: the lanes that exist and, inside a branch on lanes, that take it.
Reg Selector::active_mask() {
  Reg mask;
  if (lanes_.active < 0) {
    mask = lane_prefix(lanes_.active_reg);
  } else if (lanes_.active < lanes_.count || (lanes_.condition.valid() && lanes_.count < 16)) {
    // A condition says nothing about lanes that fill a register up to 16 bytes.
    mask = lane_bits(lanes_.active);
  }
  if (!lanes_.condition.valid()) return mask;
  if (!mask.valid()) return lanes_.condition;
  return code.define(RegClass::kMask, 8, X86::kandq, {kreg(mask), kreg(lanes_.condition)});
}

/// AVX-512 mask of the first `count` lanes.
Reg Selector::lane_bits(int count) {
  const uint64_t bits = count == 64 ? ~uint64_t{0} : (uint64_t{1} << count) - 1;
  return code.define(RegClass::kMask, 8, X86::kmovq,
                     {greg(constant_gpr(static_cast<int64_t>(bits)))});
}

/// AVX-512 mask of the lanes before the one numbered by `count` (0..64).
Reg Selector::lane_prefix(Reg count) {
  const Reg bits = code.define(RegClass::kGpr, 8, X86::bzhi, {greg(constant_gpr(-1)), greg(count)});
  return code.define(RegClass::kMask, 8, X86::kmovq, {greg(bits)});
}

Value Selector::load(const ir::Expr& e) { return e->guarded ? load_guarded(e) : load_certain(e); }

/// An element that exists, whatever a guard of the load says.
Value Selector::load_certain(const ir::Expr& e) {
  const ir::NestBuffer& b = nest_.buffers[e->id];
  Affine offset;
  if (!lane_index(e->args[0], offset)) return load_gather(e);
  if (failed()) return {};
  if (b.home == ir::Home::kRegisters) return loaded(load_tile(e->id, offset), e->id);
  return loaded(load_memory(e->id, offset, Reg{}), e->id);
}

/// The type of a buffer's elements as registers hold them before `loaded` and after `stored`: bools
/// are bytes.
DType Selector::element_type(int buffer) const {
  const DType type = nest_.buffers[buffer].type;
  return type == DType::kBool ? DType::kU8 : type;
}

/// Elements of a buffer as a value: bools become masks.
Value Selector::loaded(const Value& v, int buffer) {
  return nest_.buffers[buffer].type == DType::kBool && !failed() ? mask_of_bytes(v) : v;
}

/// A value as elements of a buffer: masks become bytes.
Value Selector::stored(const Value& v) {
  return v.type == DType::kBool && !failed() ? bytes_of_mask(v) : v;
}

/// Lanes of elements `offset`; with `mask`, only of the lanes it holds, the others are 0.
Value Selector::load_memory(int buffer, const Affine& offset, Reg mask) {
  const int32_t lane = Factor::make(Factor::kLane, 0);
  const Affine stride = offset.coefficient_of(lane);
  const Affine first = offset.without(lane);
  const DType type = element_type(buffer);
  if (stride.is_constant() && stride.constant == 0) {
    if (!mask.valid() && lanes_.condition.valid()) mask = active_mask();
    return {broadcast_load(address(buffer, first), type, buffer, mask), type, size_of(type)};
  }
  if (stride.is_constant() && stride.constant == 1) {
    return {contiguous_load(address(buffer, first), type, buffer, mask), type, size_of(type)};
  }
  return load_strided(buffer, first, stride, mask);
}

Reg Selector::broadcast_load(const Mem& m, DType type, int buffer, Reg mask) {
  const int size = size_of(type);
  if (lanes_.count == 1 && !mask.valid() && size >= 4) {
    return code.load(RegClass::kVec, 16, size == 4 ? X86::vmovss : X86::vmovsd, mem(m), buffer);
  }
  const int w = width(type);
  if (!mask.valid() && size >= 4) {
    const Reg known = code.known_load(16, size == 4 ? X86::vmovss : X86::vmovsd, mem(m));
    if (known.valid()) {
      return code.define(RegClass::kVec, w, broadcast_of(size, w), {vreg(known, 16)});
    }
  }
  // Under a mask only what does not fault on lanes that are off will do, which vmovddup does.
  const X86 op = mask.valid() && size == 8 ? X86::vpbroadcastq : broadcast_of(size, w);
  return code.load(RegClass::kVec, w, op, mem(m), buffer, mask);
}

Reg Selector::contiguous_load(const Mem& m, DType type, int buffer, Reg mask) {
  const int size = size_of(type);
  if (!mask.valid() && lanes_.partial()) mask = active_mask();
  if (mask.valid()) {
    return code.load(RegClass::kVec, width(type), masked_move_of(size), mem(m), buffer, mask);
  }
  X86 op = X86::vmovups;
  switch (lanes_.count * size) {
    case 1:
      op = X86::vpbroadcastb;
      break;
    case 2:
      op = X86::vpbroadcastw;
      break;
    case 4:
      op = X86::vmovss;
      break;
    case 8:
      op = X86::vmovsd;
      break;
    default:
      break;
  }
  return code.load(RegClass::kVec, width(type), op, mem(m), buffer);
}

void Selector::store_memory(int buffer, const Affine& offset, const Value& value) {
  const int32_t lane = Factor::make(Factor::kLane, 0);
  const Affine stride = offset.coefficient_of(lane);
  const Affine first = offset.without(lane);
  if (failed()) return;
  if (!stride.is_constant() || (stride.constant != 1 && lanes_.count > 1)) {
    return store_strided(buffer, first, stride, value);
  }
  const Mem m = address(buffer, first);
  if (failed()) return;
  const Value v = stored(value);
  const int size = size_of(v.type);
  if (lanes_.partial()) {
    code.emit(masked_move_of(size), {mem(m), vreg(v.reg, width(v.type))}, active_mask());
  } else if (!stream_store(buffer, first, m, v.reg, lanes_.count * size)) {
    store_lanes(m, v.reg, lanes_.count * size);
  }
  code.clobber(buffer);
  if (lanes_.partial()) return;
  // Reading it back needs no trip through memory.
  if (lanes_.count == 1 && size >= 4) {
    code.remember(v.reg, 16, size == 4 ? X86::vmovss : X86::vmovsd, mem(m), buffer);
  } else if (lanes_.count * size >= 16) {
    code.remember(v.reg, width(v.type), X86::vmovups, mem(m), buffer);
  }
}

/// Stores the first `bytes` of a vector register: 1, 2, 4, 8, 16, 32 or 64.
void Selector::store_lanes(const Mem& m, Reg reg, int bytes) {
  switch (bytes) {
    case 1:
      code.emit(X86::vpextrb, {mem(m), vreg(reg, 16), imm(0)});
      return;
    case 2:
      code.emit(X86::vpextrw, {mem(m), vreg(reg, 16), imm(0)});
      return;
    case 4:
      code.emit(X86::vmovss, {mem(m), vreg(reg, 16)});
      return;
    case 8:
      code.emit(X86::vmovsd, {mem(m), vreg(reg, 16)});
      return;
    default:
      code.emit(X86::vmovups, {mem(m), vreg(reg, bytes)});
      return;
  }
}

void Selector::store(const ir::Stmt& s) {
  const ir::NestBuffer& b = nest_.buffers[s.id];
  Affine offset;
  if (!lane_index(s.offset, offset)) {
    if (dot_.row == nullptr) return store_each(s);
    return refuse("a dot product into elements of " + b.name + " that do not lie together");
  }
  if (failed()) return;
  if (b.home == ir::Home::kRegisters) {
    store_tile(s, offset);
    return forget_transposed(s.id);
  }
  const bool across = lanes_.loop >= 0 && !offset.has(Factor::make(Factor::kLane, 0));
  if (across && s.reduce != ir::Reduce::kNone) return store_across(s, offset);
  Value v;
  if (s.reduce == ir::Reduce::kNone) {
    v = value(s.value);
  } else {
    v = accumulated(loaded(load_memory(s.id, offset, Reg{}), s.id), s);
  }
  if (failed()) return;
  store_memory(s.id, offset, v);
}

/// `old` combined with what `s` adds to it.
Value Selector::accumulated(const Value& old, const ir::Stmt& s) {
  if (dot_.row != nullptr) return dot_added(old, s);
  if (s.reduce == ir::Reduce::kSum && is_product(s.value)) {
    const Value a = value(s.value->args[0]), b = value(s.value->args[1]);
    return fused(Fused::kAdd, a, b, old);
  }
  return combine(s.reduce, old, value(s.value));
}

}  // namespace hone::jit
