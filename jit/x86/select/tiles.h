// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "jit/x86/select/masks.h"
#include "jit/x86/select/part.h"
#include "jit/x86/select/transposes.h"
#include "jit/x86/select/vectors.h"

namespace hone::jit {

/// A part of a register tile: elements [offset, offset + lanes) of the buffer in one register.
struct TileGroup {
  int64_t offset = 0;
  int lanes = 0;
  Reg reg;
  int used = 0;  ///< lanes that are elements; the others hold anything
};

/// Buffers in registers: elements [offset, offset + lanes) that are accessed together share a
/// vector register.
class Tiles final : public SelectionPart, public ScopeListener {
 public:
  Tiles(Context& context, Vectors& vectors, Masks& masks, Transposes& transposes)
      : SelectionPart(context),
        vectors_(vectors),
        masks_(masks),
        transposes_(transposes),
        tiles_(context.nest.buffers.size()) {
    context.listeners.push_back(this);
  }

  Value load(int buffer, const Affine& offset);
  /// Writes lanes of `v` to elements of a tile that are not one register.
  void scatter(int buffer, int64_t first, int64_t stride, const Value& v);
  /// Writes one element, of a value of one lane.
  void set_element(int buffer, int64_t offset, const Value& value);
  TileGroup* group_at(int buffer, int64_t offset);
  TileGroup& new_group(int buffer, int64_t offset);
  /// True when none of the elements at hand has a register yet.
  bool is_free(int buffer, int64_t offset);
  /// True when an access of the lanes at hand is this group and no more: groups of equal width may
  /// hold fewer elements.
  bool is_whole(int buffer, const TileGroup& group, int64_t offset);
  /// Code that never runs, as loops that end early leave it, may name elements that there are not.
  bool is_in_tile(int buffer, int64_t offset);
  /// Puts `v` into `reg`; where `v` was just computed, the computation is pointed there instead.
  void assign(Reg reg, const Value& v);
  /// The registers that hold the buffer by now.
  const std::vector<TileGroup>& groups(int buffer) const { return tiles_[buffer].groups; }
  void opened(Scope::Kind kind, uint64_t written) override;
  void closed(int depth, uint64_t written) override;

 private:
  struct Tile {
    std::vector<int32_t> group_at;  ///< by element; -1: none
    std::vector<TileGroup> groups;
  };

  /// Elements first, first + stride, ... of a tile, one a lane.
  Value load_across(int buffer, int64_t first, int64_t stride);
  /// Elements of a tile that do not lie in one register, lane by lane.
  Value gather(int buffer, int64_t first, int64_t stride);
  /// True where the lanes at hand, from element `first` on, are an aligned part of the group's
  /// register.
  bool lies_in_part(int buffer, const TileGroup& group, int64_t first);
  Value part_of(const TileGroup& group, DType type, int lane);
  /// Writes the lanes of `v` to such a part; false where they are none, or it cannot be written.
  bool set_part(int buffer, int64_t first, const Value& v);
  /// One element of a group in all lanes.
  Value element_of(const TileGroup& group, DType type, int lane);
  void touch(uint64_t written);

  Vectors& vectors_;
  Masks& masks_;
  Transposes& transposes_;
  std::vector<Tile> tiles_;  ///< by buffer; empty unless it lives in registers
};

}  // namespace hone::jit
