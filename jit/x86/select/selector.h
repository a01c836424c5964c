// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "jit/x86/select/conditions.h"
#include "jit/x86/select/dot_excess.h"
#include "jit/x86/select/dots.h"
#include "jit/x86/select/group_stores.h"
#include "jit/x86/select/indices.h"
#include "jit/x86/select/integers.h"
#include "jit/x86/select/lane_sums.h"
#include "jit/x86/select/loads.h"
#include "jit/x86/select/loops.h"
#include "jit/x86/select/masks.h"
#include "jit/x86/select/part.h"
#include "jit/x86/select/stores.h"
#include "jit/x86/select/streams.h"
#include "jit/x86/select/surveys.h"
#include "jit/x86/select/vectorizer.h"

namespace hone::jit {

/// The walk over the statements of one launch.
class Selector final : public SelectionPart {
 public:
  Selector(Context& context, Indices& indices, Integers& integers, Masks& masks,
           Conditions& conditions, Streams& streams, Loads& loads, DotExcess& excess, Dots& dots,
           LaneSums& sums, GroupStores& groups, Stores& stores, Surveys& surveys, Loops& loops,
           Vectorizer& vectorizer)
      : SelectionPart(context),
        indices_(indices),
        integers_(integers),
        masks_(masks),
        conditions_(conditions),
        streams_(streams),
        loads_(loads),
        excess_(excess),
        dots_(dots),
        sums_(sums),
        groups_(groups),
        stores_(stores),
        surveys_(surveys),
        loops_(loops),
        vectorizer_(vectorizer) {}

  /// Emits the whole function into the context's code, or sets its refusal.
  void run();
  void walk(const ir::Stmt& s);

 private:
  void prologue();
  void walk_for(const ir::ForStmt& s);
  void walk_if(const ir::IfStmt& s);
  /// AVX-512: both sides one after the other, each for the lanes that take it.
  void walk_lane_if(const ir::IfStmt& s);
  /// Lowers the status word to `value` unless the condition holds.
  void check(const ir::CheckStmt& s);
  /// The same for all lanes of a vector loop: of those that fail, the first has the lowest
  /// position.
  void check_lanes(const ir::CheckStmt& s);
  /// Lowers the status word to `position` where that is lower; jumps to `done` where it is not.
  void report(const Affine& position, int done);
  /// Branches once on a guard for the whole vector loop. A masked load whose lanes are all off is
  /// cheap only where the address exists. Elsewhere the processor spends hundreds of cycles on not
  /// faulting.
  void vector_by_guard(const ir::ForStmt& s, const Affine& extent, const ir::Expr& guard);
  /// A guard by data of a load in `s` that holds or fails for all of the vector loop `loop`
  /// together. An example is whether a row number is valid. Null where there is none.
  const ir::Expr* common_guard(const ir::Stmt& s, const ir::Stmt& loop);
  void serial(const ir::ForStmt& s, const Affine& begin, const Affine& extent);
  void dot(const ir::ForStmt& s, const Affine& begin, const Affine& extent);
  void range_loop();

  Indices& indices_;
  Integers& integers_;
  Masks& masks_;
  Conditions& conditions_;
  Streams& streams_;
  Loads& loads_;
  DotExcess& excess_;
  Dots& dots_;
  LaneSums& sums_;
  GroupStores& groups_;
  Stores& stores_;
  Surveys& surveys_;
  Loops& loops_;
  Vectorizer& vectorizer_;
};

}  // namespace hone::jit
