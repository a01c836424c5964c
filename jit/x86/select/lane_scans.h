// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "jit/ir/scan.h"
#include "jit/x86/select/arithmetic.h"
#include "jit/x86/select/memory.h"
#include "jit/x86/select/part.h"

namespace hone::jit {

/// Recurrences in a vector loop: each lane stores what the lane before does, combined with a term
/// of its own. Prefixes come in steps of 1, 2, 4 lanes (Hillis and Steele, 1986). What was stored
/// before the first lane is combined with all of them.
class LaneScans final : public SelectionPart {
 public:
  LaneScans(Context& context, LaneArithmetic& arithmetic, Memory& memory)
      : SelectionPart(context), arithmetic_(arithmetic), memory_(memory) {}

  /// Stores all lanes; false, and nothing is done, where one after the other has to be.
  bool store(const ir::StoreStmt& s, const Affine& offset);

 private:
  /// What the first lane goes on from, in all lanes.
  Value before_lanes(const ir::Expr& earlier);
  Value prefixes(ir::Reduce combine, Value v);
  /// The lanes moved up by `by`, the first ones from `fill`, which changes nothing.
  Value moved_up(const Value& v, int by, const Value& fill);

  LaneArithmetic& arithmetic_;
  Memory& memory_;
};

}  // namespace hone::jit
