// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "jit/ir/scan.h"
#include "jit/x86/select/arithmetic.h"
#include "jit/x86/select/memory.h"
#include "jit/x86/select/part.h"

namespace hone::jit {

/// Recurrences in a vector loop: each lane stores what the lane before does, combined with a term
/// of its own. Prefixes come in steps of 1, 2, 4 lanes (Hillis and Steele, 1986). What was stored
/// before the first lane is combined with all of them. Where the loop goes down in memory, lanes
/// stand as memory does, and each goes on from the one above.
class LaneScans final : public SelectionPart {
 public:
  LaneScans(Context& context, Indices& indices, Addresses& addresses, Vectors& vectors,
            Masks& masks, LaneArithmetic& arithmetic, Memory& memory)
      : SelectionPart(context),
        indices_(indices),
        addresses_(addresses),
        vectors_(vectors),
        masks_(masks),
        arithmetic_(arithmetic),
        memory_(memory) {}

  /// Stores all lanes; false, and nothing is done, where one after the other has to be.
  bool store(const ir::StoreStmt& s, const Affine& offset);

 private:
  /// What lanes go on from one another by: `factor * earlier + term`, or another combination of
  /// `earlier` and `term`.
  struct Steps {
    ir::Reduce combine = ir::Reduce::kSum;
    bool down = false;
    Value term, factor;
  };
  /// A vector that was stored whole: what its lanes combine, and what its first one went on from.
  struct Stored {
    int buffer = -1;
    Reg reg;
    Steps steps;
    Value before;
  };

  /// How far the last lane is from the first.
  Affine last_lane() const;
  /// Whole registers: lanes that do not exist change nothing.
  Value filled(const Value& v, const Value& fill);
  /// Makes each lane the combination of all lanes before it and its own.
  void combine_lanes(Steps& s);
  /// What the first lane goes on from, in all lanes.
  Value before_lanes(const ir::Expr& earlier);
  /// The same from the registers of the vector before, without a trip through memory; false where
  /// `earlier` is not its last lane.
  bool before_from_registers(const ir::Expr& earlier, bool down, Value& out);
  /// The last lane in all lanes.
  Value last_of(const Value& v, bool down);
  Value gone_on(const Steps& s, const Value& earlier);
  /// The lanes moved on by `by`, the first ones from `fill`.
  Value moved(const Value& v, int by, const Value& fill, bool down);

  Indices& indices_;
  Addresses& addresses_;
  Vectors& vectors_;
  Masks& masks_;
  LaneArithmetic& arithmetic_;
  Memory& memory_;
  Stored last_;
};

}  // namespace hone::jit
