// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "jit/passes/lower/part.h"

namespace hone::jit {

class LoopValues;
class Partition;
class StoreLines;
class ThreadLoops;
class Windows;

/// The pieces that a loop's range is cut into: by the tail of its split, by conditions that bound
/// it, and by `partition`.
///   split m 6 tail=peel, M=100    =>    for o in 0..16: i in 6;  once: i in 4
class Tails final : public LoweringPart {
 public:
  Tails(LoweringContext& context, LoopValues& values, Windows& windows, Partition& partition,
        StoreLines& lines, const ThreadLoops& threads)
      : LoweringPart(context),
        values_(values),
        windows_(windows),
        partition_(partition),
        lines_(lines),
        threads_(threads) {}

  /// The pieces of a loop, in order. `init`: for storing a reduction's identity.
  std::vector<Piece> pieces_of(Instance& in, int node, bool init);

 private:
  std::vector<Piece> split_pieces(Instance& in, int node);
  std::vector<Piece> peeled_pieces(const ir::Poly& whole, int64_t factor);
  void tighten(Instance& in, int node, Piece& piece);
  bool in_registers(const ir::Stage& s, ir::Space space) const;
  bool shares_inside(const ir::Stage& s) const;
  bool ranges_known(Instance& in);

  LoopValues& values_;
  Windows& windows_;
  Partition& partition_;
  StoreLines& lines_;
  const ThreadLoops& threads_;
};

}  // namespace hone::jit
