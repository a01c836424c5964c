// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>

#include "jit/x86/select/indices.h"
#include "jit/x86/select/lane_sums.h"
#include "jit/x86/select/part.h"

namespace hone::jit {

/// Loops that run, and loops laid out iteration by iteration.
class Loops final : public SelectionPart {
 public:
  Loops(Context& context, Indices& indices, LaneSums& sums)
      : SelectionPart(context), indices_(indices), sums_(sums) {}

  /// A loop over [begin, begin + extent) by `step`, whole steps only.
  void loop(int number, const Affine& begin, const Affine& extent, int64_t step, uint64_t written,
            const std::function<void()>& body);
  void unrolled(const ir::ForStmt& s, const Affine& begin, int64_t extent);
  void guarded_unrolled(const ir::ForStmt& s, const Affine& begin, const Affine& extent,
                        int64_t most);
  /// A number of iterations that the loop never exceeds; -1: none is known.
  int64_t most_iterations(const ir::ForStmt& s, const Affine& begin, const Affine& extent) const;
  /// True when an element of a register tile is chosen by the variable.
  bool indexes_tile(const ir::Stmt& s, int variable) const;

 private:
  Indices& indices_;
  LaneSums& sums_;
};

}  // namespace hone::jit
