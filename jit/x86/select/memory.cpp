// SPDX-License-Identifier: Apache-2.0
#include "jit/x86/select/memory.h"

#include <algorithm>
#include <vector>

#include "jit/x86/select/by_size.h"

namespace hone::jit {

Value Memory::load(int buffer, const Affine& offset, Reg mask) {
  const int32_t lane = Factor::make(Factor::kLane, 0);
  const Affine stride = offset.coefficient_of(lane);
  const Affine first = offset.without(lane);
  const DType type = element_type(buffer);
  if (stride.is_constant() && stride.constant == 0) {
    if (!mask.valid() && lanes_.condition.valid()) mask = masks_.active();
    return {broadcast_load(addresses_.address(buffer, first), type, buffer, mask), type,
            size_of(type)};
  }
  if (stride.is_constant() && stride.constant == 1) {
    return {contiguous_load(addresses_.address(buffer, first), type, buffer, mask), type,
            size_of(type)};
  }
  return gathers_.load_strided(buffer, first, stride, mask);
}

Reg Memory::broadcast_load(const Mem& m, DType type, int buffer, Reg mask) {
  const int size = size_of(type);
  if (lanes_.count == 1 && !mask.valid() && size >= 4) {
    return code_.load(RegClass::kVec, 16, size == 4 ? X86::vmovss : X86::vmovsd, mem(m), buffer);
  }
  const int w = width(type);
  if (!mask.valid() && size >= 4) {
    const Reg known = code_.known_load(16, size == 4 ? X86::vmovss : X86::vmovsd, mem(m));
    if (known.valid()) {
      return code_.define(RegClass::kVec, w, broadcast_of(size, w), {vreg(known, 16)});
    }
  }
  // Under a mask only what does not fault on lanes that are off will do, which vmovddup does.
  const X86 op = mask.valid() && size == 8 ? X86::vpbroadcastq : broadcast_of(size, w);
  return code_.load(RegClass::kVec, w, op, mem(m), buffer, mask);
}

Reg Memory::contiguous_load(const Mem& m, DType type, int buffer, Reg mask) {
  const int size = size_of(type);
  if (!mask.valid() && lanes_.partial()) mask = masks_.active();
  if (mask.valid()) {
    return code_.load(RegClass::kVec, width(type), masked_move_of(size), mem(m), buffer, mask);
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
  return code_.load(RegClass::kVec, width(type), op, mem(m), buffer);
}

bool Memory::store_pieces(const Mem& at, const Value& value, int active) {
  // Beyond this many a masked store is the cheaper one, whatever waits for it.
  // Chosen: about as long as the wait that pieces avoid (not measured).
  constexpr size_t kMostPieces = 4;
  struct Piece {
    int lane, lanes;
  };
  const int size = size_of(value.type), quarter = 16 / size;
  std::vector<Piece> pieces;
  for (int lane = 0; lane < active; lane += pieces.back().lanes) {
    int lanes = 1;
    if (lane % quarter == 0) {
      const int most = lane == 0 ? active : std::min(active - lane, quarter);
      while (2 * lanes <= most) lanes *= 2;
    }
    pieces.push_back({lane, lanes});
  }
  if (pieces.size() > kMostPieces) return false;
  for (const Piece& p : pieces) {
    Mem m = at;
    m.disp += p.lane * size;
    int within = 0;
    if (p.lane % quarter == 0) {
      vectors_.store_lanes(m, vectors_.quarter_of(value, p.lane, within), p.lanes * size);
    } else {
      vectors_.store_lane(m, value, p.lane);
    }
  }
  return true;
}

void Memory::store(int buffer, const Affine& offset, const Value& value, bool reread) {
  const int32_t lane = Factor::make(Factor::kLane, 0);
  const Affine stride = offset.coefficient_of(lane);
  const Affine first = offset.without(lane);
  if (!stride.is_constant() || (stride.constant != 1 && lanes_.count > 1)) {
    return gathers_.store_strided(buffer, first, stride, value);
  }
  const Mem m = addresses_.address(buffer, first);
  const Value v = masks_.stored(value);
  const int size = size_of(v.type);
  // Pieces, where the next row is loaded soon. A load that meets lanes which a masked store leaves
  // out waits until that store has left the queue.
  const bool first_lanes = lanes_.partial() && lanes_.active > 0 && !lanes_.condition.valid();
  const bool in_pieces = reread && first_lanes && store_pieces(m, v, lanes_.active);
  if (lanes_.partial() && !in_pieces) {
    code_.emit(masked_move_of(size), {mem(m), vreg(v.reg, width(v.type))}, masks_.active());
  } else if (!in_pieces && !streams_.store(buffer, first, m, v.reg, lanes_.count * size)) {
    vectors_.store_lanes(m, v.reg, lanes_.count * size);
  }
  const int bytes = (first_lanes ? lanes_.active : lanes_.count) * size;
  code_.clobber(buffer, mem(m), bytes);
  // Reading it back needs no trip through memory. What is in lanes that are off matters to nobody.
  if (lanes_.partial()) {
    if (!lanes_.condition.valid()) {
      code_.remember(v.reg, width(v.type), masked_move_of(size), mem(m), buffer, bytes,
                     masks_.active());
    }
    return;
  }
  if (lanes_.count == 1 && size >= 4) {
    code_.remember(v.reg, 16, size == 4 ? X86::vmovss : X86::vmovsd, mem(m), buffer, bytes);
  } else if (bytes >= 16) {
    code_.remember(v.reg, width(v.type), X86::vmovups, mem(m), buffer, bytes);
  }
}

}  // namespace hone::jit
