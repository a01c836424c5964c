// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "jit/x86/select/arithmetic.h"
#include "jit/x86/select/conditions.h"
#include "jit/x86/select/dots.h"
#include "jit/x86/select/indices.h"
#include "jit/x86/select/lane_scans.h"
#include "jit/x86/select/lane_sums.h"
#include "jit/x86/select/masks.h"
#include "jit/x86/select/memory.h"
#include "jit/x86/select/part.h"
#include "jit/x86/select/tiles.h"
#include "jit/x86/select/transposes.h"

namespace hone::jit {

/// Stores as the nest states them: to memory and to tiles.
class Stores final : public SelectionPart {
 public:
  Stores(Context& context, Indices& indices, Conditions& conditions, Masks& masks,
         LaneArithmetic& arithmetic, Memory& memory, Transposes& transposes, Tiles& tiles,
         Dots& dots, LaneSums& sums, LaneScans& scans)
      : SelectionPart(context),
        indices_(indices),
        conditions_(conditions),
        masks_(masks),
        arithmetic_(arithmetic),
        memory_(memory),
        transposes_(transposes),
        tiles_(tiles),
        dots_(dots),
        sums_(sums),
        scans_(scans) {}

  void store(const ir::StoreStmt& s);

 private:
  /// True of a term that is known to lie outside its tensor, where what stands for it changes
  /// nothing.
  bool changes_nothing(const ir::StoreStmt& s);
  /// `old` combined with what `s` adds to it.
  Value accumulated(const Value& old, const ir::StoreStmt& s);
  void store_tile(const ir::StoreStmt& s, const Affine& offset);
  /// Bools, which tiles hold as bytes; and values that only some lanes take.
  void store_tile_slowly(const ir::StoreStmt& s, Reg reg, bool ends_early);
  /// A term that is chosen in some lanes, where others leave `reg` as it is; false where it is
  /// none.
  bool add_chosen(const ir::StoreStmt& s, Reg reg);
  void assign_value(Reg reg, const ir::Expr& e);
  /// A store, one lane after the other.
  void store_each(const ir::StoreStmt& s);

  Indices& indices_;
  Conditions& conditions_;
  Masks& masks_;
  LaneArithmetic& arithmetic_;
  Memory& memory_;
  Transposes& transposes_;
  Tiles& tiles_;
  Dots& dots_;
  LaneSums& sums_;
  LaneScans& scans_;
};

}  // namespace hone::jit
