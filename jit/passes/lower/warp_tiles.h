// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "jit/passes/lower/part.h"

namespace hone::jit {

class ThreadLoops;

/// How the lanes of a warp, or of a warpgroup, hold a buffer together.
struct WarpLayout {
  std::vector<ir::Axis> axes;
  int lanes = 0;
  bool operator==(const WarpLayout&) const = default;
};

/// Tiles of tensor instructions: operands that the lanes of a warp hold together.
class WarpTiles final : public LoweringPart {
 public:
  WarpTiles(LoweringContext& context, const ThreadLoops& threads)
      : LoweringPart(context), threads_(threads) {}

  /// Rejects operands of a tensor instruction that neither its lanes nor their block keeps.
  void check(const Instance& in) const;
  /// Rejects a loop of a tensor instruction that has not all its iterations.
  void check_whole(const ir::Loop& loop, const Piece& piece) const;
  /// How a buffer that a tensor instruction reads or writes lies in the registers of its lanes.
  WarpLayout layout_of(const ir::Buffer& b) const;

 private:
  WarpLayout by_loops(const ir::Buffer& b) const;

  const ThreadLoops& threads_;
};

}  // namespace hone::jit
