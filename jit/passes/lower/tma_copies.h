// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "jit/passes/lower/part.h"

namespace hone::jit {

class Accesses;
struct BoxCopy;

/// Copies into shared memory that a GPU's TMA makes, a box of a tensor at a time. A box is a run of
/// the copy's layout; axes outside the run are loops over boxes.
///   for d0: for d1: As[d0,d1] = A[m+d0,k+d1]    =>    tma copy of A[k, m] to As[0]
class TmaCopies final : public LoweringPart {
 public:
  TmaCopies(LoweringContext& context, Accesses& accesses)
      : LoweringPart(context), accesses_(accesses) {}

  /// The TMA copies of a stage, one for each box. Rejects what TMA cannot do.
  ir::StmtRef copy(Instance& in);

 private:
  void check_source(const Instance& in) const;
  BoxCopy box_axes(const Instance& in) const;
  void choose_box(const Instance& in, BoxCopy& copy) const;
  void check_box(const Instance& in, const BoxCopy& copy) const;
  ir::TensorMap map_of(Instance& in, const BoxCopy& copy, std::vector<ir::Expr>& at);
  ir::StmtRef box_elements(Instance& in, const BoxCopy& copy);

  Accesses& accesses_;
};

}  // namespace hone::jit
