// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <vector>

#include "jit/passes/lower/part.h"

namespace hone::jit {

class Accesses;
class LoopValues;

/// Rows that are stored past the caches and begin anywhere in a line of memory. Only whole aligned
/// vectors go past the caches, so blocks of a row begin where lines do:
///   split j 64 tail=peel, Y[i,j], J=979, stream Y
///       =>    once: j in h(i);  for o: j in 64, from h(i) on;  once: what is left
class StoreLines final : public LoweringPart {
 public:
  StoreLines(LoweringContext& context, Accesses& accesses, LoopValues& values)
      : LoweringPart(context), accesses_(accesses), values_(values) {}

  /// Elements before the first line that begins in a row. `node` is the loop over the row's blocks,
  /// and loops that decide which row it is are open. Nothing where blocks may begin with the row.
  std::optional<ir::Poly> before_first(Instance& in, int node);
  /// The pieces of that loop over `whole` elements.
  std::vector<Piece> pieces(const ir::Poly& whole, int64_t factor, const ir::Poly& before);

 private:
  std::optional<ir::Poly> offset_of(Instance& in, int row, int64_t at);

  Accesses& accesses_;
  LoopValues& values_;
};

}  // namespace hone::jit
