// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <vector>

#include "jit/passes/lower/part.h"

namespace hone::jit {

class Accesses;

/// Extents and values of the loops of an instance, by how splits and fuses derive them, while some
/// loops are open and others are not. Bounds of reduction variables are read through Accesses.
class LoopValues final : public LoweringPart {
 public:
  LoopValues(LoweringContext& context, Accesses& accesses)
      : LoweringPart(context), accesses_(accesses) {}

  /// Iterations of a loop, given the loops that are open; rejects loops whose order leaves it open.
  ir::Poly extent_of(Instance& in, int node);
  /// The value of a loop, where the loops that it derives from or is taken apart into are open.
  std::optional<ir::Poly> value_of(Instance& in, int node);
  /// The values a loop takes while the loops that are open stand still.
  Span range_of(Instance& in, int node);
  /// The values that var or rvar number `v` takes meanwhile.
  Span values_of(Instance& in, size_t v);
  /// The values of each var and rvar of a stage that is being emitted.
  std::vector<Span> spans_of(Instance& in);
  /// True when `node`, or a loop that derives from it, is open.
  bool any_open(const Instance& in, int node) const;

  /// Opens a loop at `value`, in one of its pieces; unplace() closes it.
  void place(Instance& in, int node, const ir::Poly& value, const Piece& piece);
  void unplace(Instance& in, int node);

 private:
  void check_fused_splits(Instance& in, int fuse);
  std::optional<ir::Poly> base_of(Instance& in, int node);

  Accesses& accesses_;
};

}  // namespace hone::jit
