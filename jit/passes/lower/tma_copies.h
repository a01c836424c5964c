// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "jit/passes/lower/part.h"

namespace hone::jit {

class Accesses;
struct TmaShape;

/// TMA copies into shared memory. One copies a box of a tensor (CUtensorMap's boxDim), which is a
/// run of the layout in shared memory. Axes outside the run are loops over copies.
///   for d0: for d1: As[d0,d1] = A[m+d0,k+d1]    =>    tma copy of A[k, m] to As[0]
class TmaCopies final : public LoweringPart {
 public:
  TmaCopies(LoweringContext& context, Accesses& accesses)
      : LoweringPart(context), accesses_(accesses) {}

  /// The TMA copies of a stage. Rejects what TMA cannot do.
  ir::StmtRef copy(Instance& in);

 private:
  void check_source(const Instance& in) const;
  TmaShape tensor_axes(const Instance& in) const;
  void choose_box(const Instance& in, TmaShape& copy) const;
  void check_box(const Instance& in, const TmaShape& copy) const;
  ir::TensorMap map_of(Instance& in, const TmaShape& copy, std::vector<ir::Expr>& at);
  ir::StmtRef meaning(Instance& in, const TmaShape& copy);

  Accesses& accesses_;
};

}  // namespace hone::jit
