// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "jit/passes/lower/part.h"

namespace hone::jit {

class Accesses;
class LoopValues;
class Windows;

/// `prefetch T at L distance=d`: the lines that iteration L+d reads. `prefetch T at L of O
/// distance=d`: a share of what iteration O+d reads.
class Prefetches final : public LoweringPart {
 public:
  Prefetches(LoweringContext& context, Accesses& accesses, LoopValues& values, Windows& windows)
      : LoweringPart(context), accesses_(accesses), values_(values), windows_(windows) {}

  /// Adds to `out` the prefetches of the stage at loop `l`, which is open.
  void add(Instance& in, const ir::Loop& l, std::vector<ir::StmtRef>& out);

 private:
  bool reads_empty(const ir::Expr& e) const;
  static std::vector<ir::Expr> told(const ir::Stage& stage);
  struct Row {
    int buffer;
    ir::Poly start;
    int64_t elements = 1;
  };
  Row row_of(Instance& in, const ir::Expr& load);
  void ask(const Row& row, std::vector<ir::StmtRef>& out);
  std::optional<int> number_of(const ir::Place& place) const;
  std::vector<int> open_inside(int outer) const;
  void ask_share(Instance& in, const ir::Prefetch& p, std::vector<ir::StmtRef>& out);

  Accesses& accesses_;
  LoopValues& values_;
  Windows& windows_;
};

}  // namespace hone::jit
