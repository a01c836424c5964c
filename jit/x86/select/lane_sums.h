// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <utility>
#include <vector>

#include "jit/x86/select/arithmetic.h"
#include "jit/x86/select/dots.h"
#include "jit/x86/select/indices.h"
#include "jit/x86/select/lane_folds.h"
#include "jit/x86/select/masks.h"
#include "jit/x86/select/memory.h"
#include "jit/x86/select/part.h"
#include "jit/x86/select/tiles.h"
#include "jit/x86/select/vectors.h"

namespace hone::jit {

/// Reductions over the lanes of a vector loop: partial results lane by lane while it runs, combined
/// once after it.
class LaneSums final : public SelectionPart {
 public:
  LaneSums(Context& context, Indices& indices, Vectors& vectors, Masks& masks,
           LaneArithmetic& arithmetic, LaneFolds& folds, Memory& memory, Tiles& tiles, Dots& dots)
      : SelectionPart(context),
        indices_(indices),
        vectors_(vectors),
        masks_(masks),
        arithmetic_(arithmetic),
        folds_(folds),
        memory_(memory),
        tiles_(tiles),
        dots_(dots) {}

  /// A reduction whose destination is the same in all lanes.
  void store(const ir::StoreStmt& s, const Affine& offset);
  /// Runs `body`, the code of a vector loop; its running values go to their places after it.
  template <class Body>
  void around(const Body& body) {
    sums_depth_ = code_.depth();
    const int outer = std::exchange(branches_, 0);
    body();
    branches_ = outer;
    finish();
  }
  /// Runs `body` as a branch of the nest, whose steps may not run.
  template <class Body>
  void in_branch(const Body& body) {
    ++branches_;
    body();
    --branches_;
  }

 private:
  /// A reduction over the lanes of the vector loop being emitted: its running value, lane by lane.
  struct LaneSum {
    const ir::StoreStmt* stmt = nullptr;
    Affine offset;  ///< of the destination
    int lanes = 1;
    Value total;
    bool straight = false;  ///< steps are not in a loop
    int steps = 0;
    Reg taken = {};  ///< not 0 once a step has run, where none may: then nothing has such a place
  };

  /// Emits, before the vector loop, `reg` = the start of a reduction.
  void start_sum(Reg reg, ir::Reduce reduce, DType type);
  /// The first step of a running value is the value itself.
  void first_step(const ir::StoreStmt& s, const Affine& offset);
  /// total = combine(total, the statement's value).
  void next_step(const ir::StoreStmt& s, const Value& total);
  /// After the vector loop: the running values into their places.
  void finish();
  static bool joins_narrower(const LaneSum& wide, const LaneSum& narrow);
  Value joined(const LaneSum& sum, Value v, int lanes, std::vector<Value> parts);
  /// A result into its place, where a step has run; else the place may lie outside its tensor.
  void finish_sum(const LaneSum& sum, const Value& v);
  /// Combines the result of a vector loop with what is at its place.
  void add_to_place(const ir::StoreStmt& s, const Affine& offset, const Value& v);

  Indices& indices_;
  Vectors& vectors_;
  Masks& masks_;
  LaneArithmetic& arithmetic_;
  LaneFolds& folds_;
  Memory& memory_;
  Tiles& tiles_;
  Dots& dots_;
  std::vector<LaneSum> sums_;
  int sums_depth_ = 0;  ///< scope around the vector loop being emitted
  int branches_ = 0;    ///< of the nest that are open inside the vector loop
};

}  // namespace hone::jit
