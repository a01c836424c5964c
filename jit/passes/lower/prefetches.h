// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "jit/passes/lower/part.h"

namespace hone::jit {

class Accesses;
class LoopValues;
class Windows;

/// `prefetch T at L distance=d`: the lines that iteration L+d reads.
class Prefetches final : public LoweringPart {
 public:
  Prefetches(LoweringContext& context, Accesses& accesses, LoopValues& values, Windows& windows)
      : LoweringPart(context), accesses_(accesses), values_(values), windows_(windows) {}

  /// Adds to `out` the prefetches of the stage at loop `l`, which is open.
  void add(Instance& in, const ir::Loop& l, std::vector<ir::StmtRef>& out);

 private:
  bool reads_empty(const ir::Expr& e) const;
  static std::vector<ir::Expr> told(const ir::Stage& stage);
  void ask(Instance& in, const ir::Expr& load, std::vector<ir::StmtRef>& out);

  Accesses& accesses_;
  LoopValues& values_;
  Windows& windows_;
};

}  // namespace hone::jit
