// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "jit/ir/program.h"

namespace hone::jit {

/// A loop of a stage in its derivation tree: a variable's root loop, or made by split or fuse.
struct LoopNode {
  std::string name;
  int var = -1;            ///< root: index among vars, then rvars
  int split_into = -1;     ///< relation that splits this loop
  int fused_by = -1;       ///< relation that fuses this loop with another
  int made_by = -1;        ///< relation that made this loop
  bool inner = false;      ///< the inner loop of the split that made it
  bool reduction = false;  ///< reduced over: derives from a reduction variable and is not factored
  int factored = -1;       ///< index among Stage::factored
};

/// The loops of a stage, indexed; made once per stage.
struct StageLoops {
  explicit StageLoops(const ir::Stage& stage);
  int find(std::string_view name) const;

  const ir::Stage* stage;
  std::vector<LoopNode> nodes;
  std::vector<int> order;                         ///< Stage::loops as node numbers, outermost first
  std::vector<int> outer, inner, parent, second;  ///< of each relation, as node numbers
};

}  // namespace hone::jit
