// SPDX-License-Identifier: Apache-2.0
#include "jit/x86/select/tiles.h"

#include <algorithm>
#include <utility>

#include "jit/x86/select/by_size.h"

namespace hone::jit {

namespace {

/// Bytes of the parts of a vector that instructions take out of it.
/// Fixed by: x86.
constexpr int kQuarter = 16, kHalf = 32;

}  // namespace

/// Register tiles stored to inside a scope are not what they were before.
void Tiles::opened(Scope::Kind kind, uint64_t written) {
  if (kind == Scope::kLoop) touch(written);
}

void Tiles::closed(int /*depth*/, uint64_t written) { touch(written); }

void Tiles::touch(uint64_t written) {
  for (size_t b = 0; b < tiles_.size(); ++b) {
    if (!(written & CodeWriter::buffer_bit(static_cast<int>(b)))) continue;
    for (const TileGroup& g : tiles_[b].groups) code_.rewritten(g.reg);
    transposes_.forget(static_cast<int>(b));
  }
}

Value Tiles::load(int buffer, const Affine& offset) {
  const int32_t lane = Factor::make(Factor::kLane, 0);
  const Affine stride = offset.coefficient_of(lane);
  const Affine first = offset.without(lane);
  const DType type = element_type(buffer);
  const std::string& name = nest_.buffers[buffer].name;
  if (!first.is_constant() || !stride.is_constant()) {
    refuse("register tile " + name +
           " is read at an index known only at run time; unroll its loops");
  }
  if (!is_in_tile(buffer, first.constant)) return {};
  const TileGroup* group = group_at(buffer, first.constant);
  if (group == nullptr) {
    refuse("register tile " + name + " is read before it is written");
  }
  if (stride.constant == 0 || lanes_.count == 1) {
    if (lanes_.count == 1 && group->lanes == 1) return {group->reg, type, size_of(type)};
    return element_of(*group, type, static_cast<int>(first.constant - group->offset));
  }
  if (stride.constant != 1) return load_across(buffer, first.constant, stride.constant);
  if (is_whole(buffer, *group, first.constant)) return {group->reg, type, size_of(type)};
  if (lies_in_part(buffer, *group, first.constant)) {
    return part_of(*group, type, static_cast<int>(first.constant - group->offset));
  }
  return gather(buffer, first.constant, 1);
}

bool Tiles::lies_in_part(int buffer, const TileGroup& group, int64_t first) {
  const int size = size_of(element_type(buffer)), bytes = lanes_.count * size;
  return lanes_.active == lanes_.count && bytes < group.lanes * size &&
         (first - group.offset) * size % bytes == 0 &&
         group_at(buffer, first + lanes_.active - 1) == &group;
}

Value Tiles::part_of(const TileGroup& group, DType type, int lane) {
  const int size = size_of(type);
  if (lanes_.count * size == kHalf) {
    if (lane == 0) return {group.reg, type, size};
    const Reg half = code_.define(RegClass::kVec, kHalf, X86::vextractf64x4,
                                  {vreg(group.reg, 2 * kHalf), imm(1)});
    return {half, type, size};
  }
  const Lanes outer = lanes_;
  lanes_.count = group.lanes;
  int within = 0;
  Reg x = vectors_.quarter_of({group.reg, type, size}, lane, within);
  lanes_ = outer;
  if (within != 0) {
    x = code_.define(RegClass::kVec, kQuarter, X86::vpsrldq,
                     {vreg(x, kQuarter), imm(within * size)});
  }
  return {x, type, size};
}

bool Tiles::set_part(int buffer, int64_t first, const Value& v) {
  const TileGroup* group = group_at(buffer, first);
  constexpr int kDword = 4;  // Fixed by: bytes of 32 bits.
  const int size = size_of(v.type), bytes = lanes_.active * size;
  if (group == nullptr || v.type == DType::kBool || !lies_in_part(buffer, *group, first)) {
    return false;
  }
  const int whole = std::max(kQuarter, group->lanes * size);
  const auto at = static_cast<int>(first - group->offset) * size;
  const Operand to = vreg(group->reg, whole);
  if (whole > kHalf) {
    if (bytes < kQuarter) return false;
    const X86 insert = bytes == kHalf ? X86::vinsertf64x4 : X86::vinsertf32x4;
    code_.emit(insert, {to, to, vreg(v.reg, bytes), imm(at / bytes)});
  } else {
    if (bytes % kDword != 0 || at % kQuarter != 0) return false;
    // Fixed by: x86, a bit for each 32 of a vector.
    const int chosen = ((1 << bytes / kDword) - 1) << at / kDword;
    const Reg from = at == 0 ? v.reg
                             : code_.define(RegClass::kVec, whole, X86::vinsertf128,
                                            {vreg(v.reg, whole), vreg(v.reg, kQuarter), imm(1)});
    code_.emit(X86::vblendps, {to, to, vreg(from, whole), imm(chosen)});
  }
  code_.rewritten(group->reg);
  transposes_.forget(buffer);
  return true;
}

Value Tiles::load_across(int buffer, int64_t first, int64_t stride) {
  const DType type = element_type(buffer);
  const int size = size_of(type), n = lanes_.count;
  const TileGroup* group = group_at(buffer, first);
  const int64_t column = first - group->offset;
  // All lanes from the same column of groups of as many lanes as there are rows?
  bool square = stride != 0 && group->lanes == n && n * size >= 16 && lanes_.active > 0;
  for (int i = 1; i < lanes_.active && square; ++i) {
    const TileGroup* row = group_at(buffer, first + i * stride);
    square = row != nullptr && row->lanes == n && row->offset == group->offset + i * stride;
  }
  if (!square) return gather(buffer, first, stride);
  const Transposes::Block block{buffer, group->offset, stride, lanes_.active};
  const std::vector<Reg>* columns = transposes_.find(block);
  if (columns == nullptr) {
    std::vector<Reg> rows;
    for (int i = 0; i < n; ++i) {
      rows.push_back(i < lanes_.active ? group_at(buffer, block.first + i * stride)->reg
                                       : vectors_.constant_bits(DType::kI32, 0).reg);
    }
    columns = &transposes_.keep(block, std::move(rows), size, width(type));
  }
  return {(*columns)[column], type, size};
}

Value Tiles::gather(int buffer, int64_t first, int64_t stride) {
  const DType type = element_type(buffer);
  if (lanes_.active < 0) {
    refuse("register tile " + nest_.buffers[buffer].name +
           " is read under a mask known at the call");
  }
  const Reg reg = code_.make(RegClass::kVec);
  code_.emit(X86::vxorps, {vreg(reg, 16), vreg(reg, 16), vreg(reg, 16)});
  const Lanes outer = lanes_;
  for (int i = 0; i < outer.active; ++i) {
    const int64_t at = first + i * stride;
    const TileGroup* group = group_at(buffer, at);
    if (group == nullptr) {
      refuse("register tile " + nest_.buffers[buffer].name + " is read before it is written");
      break;
    }
    lanes_ = {};
    const Value v = element_of(*group, type, static_cast<int>(at - group->offset));
    lanes_ = outer;
    vectors_.set_lane(reg, i, v);
  }
  lanes_ = outer;
  code_.rewritten(reg);
  return {reg, type, size_of(type)};
}

void Tiles::scatter(int buffer, int64_t first, int64_t stride, const Value& v) {
  if (lanes_.active < 0 || lanes_.condition.valid()) {
    refuse("register tile " + nest_.buffers[buffer].name +
           " is written under a mask known at the call");
  }
  if (stride == 1 && set_part(buffer, first, v)) return;
  const TileGroup whole{0, lanes_.count, v.reg};
  // All elements come first: the first of them may be `v` itself, which the others are taken from.
  const Lanes outer = lanes_;
  std::vector<Value> elements;
  lanes_ = {};
  for (int i = 0; i < outer.active; ++i) {
    elements.push_back(element_of(whole, v.type, i));
  }
  lanes_ = outer;
  for (size_t i = 0; i < elements.size(); ++i) {
    set_element(buffer, first + static_cast<int64_t>(i) * stride, elements[i]);
  }
}

void Tiles::set_element(int buffer, int64_t offset, const Value& value) {
  const Lanes outer = lanes_;
  lanes_ = {};
  const Value v = masks_.stored(value);
  lanes_ = outer;
  transposes_.forget(buffer);
  TileGroup* group = group_at(buffer, offset);
  if (group == nullptr || group->lanes == 1) {
    lanes_ = {};
    const Reg reg = group == nullptr ? new_group(buffer, offset).reg : group->reg;
    assign(reg, v);
    lanes_ = outer;
    return;
  }
  const Reg reg = group->reg;
  const int lane = static_cast<int>(offset - group->offset);
  lanes_.count = lanes_.active = group->lanes;
  vectors_.set_lane(reg, lane, v);
  lanes_ = outer;
  code_.rewritten(reg);
}

Value Tiles::element_of(const TileGroup& group, DType type, int lane) {
  const int size = size_of(type);
  const Lanes outer = lanes_;
  lanes_.count = group.lanes;
  int within = 0;
  Reg x = vectors_.quarter_of({group.reg, type, size}, lane, within);
  lanes_ = outer;
  if (within != 0) {
    // Fixed by: x86.
    constexpr int kHighPair = 0xee, kEach = 0x55;
    if (size == 8) {
      x = code_.define(RegClass::kVec, 16, X86::vpshufd, {vreg(x, 16), imm(kHighPair)});
    } else if (size == 4) {
      x = code_.define(RegClass::kVec, 16, X86::vpshufd, {vreg(x, 16), imm(within * kEach)});
    } else {
      x = code_.define(RegClass::kVec, 16, X86::vpsrldq, {vreg(x, 16), imm(within * size)});
    }
  }
  if (lanes_.count == 1) return {x, type, size};
  const int w = width(type);
  return {code_.define(RegClass::kVec, w, broadcast_of(size, w), {vreg(x, 16)}), type, size};
}

TileGroup* Tiles::group_at(int buffer, int64_t offset) {
  Tile& tile = tiles_[buffer];
  if (offset < 0 || offset >= static_cast<int64_t>(tile.group_at.size())) return nullptr;
  const int32_t at = tile.group_at[offset];
  return at < 0 ? nullptr : &tile.groups[at];
}

TileGroup& Tiles::new_group(int buffer, int64_t offset) {
  Tile& tile = tiles_[buffer];
  const int64_t end = offset + (lanes_.active > 0 ? lanes_.active : lanes_.count);
  if (static_cast<int64_t>(tile.group_at.size()) < end) tile.group_at.resize(end, -1);
  for (int64_t e = offset; e < end; ++e) {
    tile.group_at[e] = static_cast<int32_t>(tile.groups.size());
  }
  const int used = static_cast<int>(end - offset);
  tile.groups.push_back({offset, lanes_.count, code_.make_variable(), used});
  // A few spills are a matter of taste; beyond, a tile belongs in memory.
  const int most = 4 * target_.vector_registers();
  if (static_cast<int>(tile.groups.size()) > most) {
    refuse("register tile " + nest_.buffers[buffer].name + " needs more than " +
           std::to_string(most) + " registers; make it smaller, or put it in scratch");
  }
  return tile.groups.back();
}

bool Tiles::is_free(int buffer, int64_t offset) {
  for (int i = 0; i < (lanes_.active > 0 ? lanes_.active : lanes_.count); ++i) {
    if (group_at(buffer, offset + i) != nullptr) return false;
  }
  return true;
}

bool Tiles::is_whole(int buffer, const TileGroup& group, int64_t offset) {
  const int64_t last = offset + (lanes_.active > 0 ? lanes_.active : lanes_.count) - 1;
  return group.offset == offset && group.lanes == lanes_.count &&
         (lanes_.active < 0 || group_at(buffer, last) == &group);
}

bool Tiles::is_in_tile(int buffer, int64_t offset) {
  const ir::NestBuffer& b = nest_.buffers[buffer];
  if (offset >= 0 && offset < b.max_bytes / size_of(b.type)) return true;
  refuse("a part of the loops over register tile " + b.name +
         " that never runs lies outside of it; use other factors, or put it in scratch");
}

void Tiles::assign(Reg reg, const Value& v) {
  if (v.reg != reg && !code_.retarget(v.reg, reg)) code_.copy(reg, v.reg, RegClass::kVec);
  code_.rewritten(reg);
}

}  // namespace hone::jit
