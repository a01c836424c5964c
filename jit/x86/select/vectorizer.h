// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "jit/x86/select/indices.h"
#include "jit/x86/select/lane_sums.h"
#include "jit/x86/select/loops.h"
#include "jit/x86/select/part.h"
#include "jit/x86/select/surveys.h"
#include "jit/x86/select/tiles.h"

namespace hone::jit {

/// Vector loops, cut into chunks of lanes.
class Vectorizer final : public SelectionPart {
 public:
  Vectorizer(Context& context, Indices& indices, Tiles& tiles, LaneSums& sums, Surveys& surveys,
             Loops& loops)
      : SelectionPart(context),
        indices_(indices),
        tiles_(tiles),
        sums_(sums),
        surveys_(surveys),
        loops_(loops) {}

  void run(const ir::ForStmt& s, const Affine& begin, const Affine& extent);

 private:
  void chunks(const ir::ForStmt& s, const Affine& begin, const Affine& extent, const Survey& needs);
  void constant(const ir::ForStmt& s, const Affine& begin, int64_t extent, int lanes);
  void dynamic(const ir::ForStmt& s, const Affine& begin, const Affine& extent,
               const Survey& needs);
  /// A loop over elements of a register tile that may end before the tile does. It runs whole where
  /// it does not, else chunk by chunk up to its end.
  void bounded(const ir::ForStmt& s, const Affine& begin, const Affine& extent, int64_t most,
               int lanes, bool unmaskable);
  /// The first `active` of `lanes` iterations from `base` on.
  void masked_chunk(const ir::ForStmt& s, const Affine& base, Reg active, int lanes);
  /// AVX-512: the last `rest` iterations under a mask.
  void masked_rest(const ir::ForStmt& s, const Affine& done, Reg count, Reg rest, int lanes);
  void chunk(const ir::ForStmt& s, const Affine& base, int lanes, int active);
  /// The lanes of the registers that tiles along the loop have by now; 0: none, or they differ.
  int lanes_of_tiles(const ir::ForStmt& s) const;

  Indices& indices_;
  Tiles& tiles_;
  LaneSums& sums_;
  Surveys& surveys_;
  Loops& loops_;
};

}  // namespace hone::jit
