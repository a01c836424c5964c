// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "jit/passes/lower/part.h"

namespace hone::jit {

class Accesses;
class LoopValues;
class Windows;

/// What is left of b - a >= (strict ? 1 : 0) when it holds for all values, and when for any.
struct Slack {
  ir::Poly least, most;
};

/// `partition L`: a loop cut where the conditions of its body change, so that each part has as few
/// of them as possible.
class Partition final : public LoweringPart {
 public:
  Partition(LoweringContext& context, Accesses& accesses, LoopValues& values, Windows& windows)
      : LoweringPart(context), accesses_(accesses), values_(values), windows_(windows) {}

  /// Cuts a loop where guarded loads, choices by index and conditions of `where` change, and where
  /// indices wrap around, are clamped or reflected. Those of the stage count, and those of stages
  /// computed inside the loop:
  ///   for h: S    =>    for h in border: S;  for h in middle: S;  for h in border: S
  std::vector<Piece> cut(Instance& in, int node, const Piece& piece);

 private:
  std::vector<Piece> cut_at(const std::vector<Piece>& parts, const ir::Poly& at);
  bool cuts_of_load(const ir::Expr& load, const ir::Stage& reader, const std::vector<Span>& spans,
                    int id, const Piece& piece, std::vector<ir::Poly>& cuts);
  void cuts_of_comparison(const ir::Expr& e, const ir::Stage& reader,
                          const std::vector<Span>& spans, int id, std::vector<ir::Poly>& cuts);
  void cuts_of_slack(const Slack& slack, int id, std::vector<ir::Poly>& cuts);
  void cuts_of_quotient(const ir::Expr& e, const ir::Stage& reader, const std::vector<Span>& spans,
                        int id, const Piece& piece, std::vector<ir::Poly>& cuts);

  Accesses& accesses_;
  LoopValues& values_;
  Windows& windows_;
};

/// Cuts begin..end to where `p`, linear in loop `id`, is not negative.
void restrict_range(const ir::Poly& p, int id, ir::Poly& begin, ir::Poly& end,
                    const ir::Facts& facts);

}  // namespace hone::jit
