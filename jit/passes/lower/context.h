// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "jit/ir/facts.h"
#include "jit/ir/group.h"
#include "jit/ir/nest.h"
#include "jit/ir/target.h"
#include "jit/passes/lower/instance.h"
#include "jit/passes/stage_tree.h"

namespace hone::jit {

/// Where a temporary is while it is live: the window it holds and how it is laid out.
struct Storage {
  int buffer = -1;              ///< in Nest::buffers
  std::vector<ir::Poly> base;   ///< first logical index held, per dim
  std::vector<ir::Poly> shape;  ///< elements held, per dim (temporaries: constant upper bounds)
  std::vector<ir::Axis> axes;
  std::vector<ir::Poly> strides;  ///< elements, per axis
  int carried = -1;  ///< a dim along which the youngest elements are held, see ir::CarriedState
  std::optional<ir::Poly> youngest = {};  ///< along it
};

/// Shared by all parts of one lowering: the program, the nest so far, and facts and live values at
/// the place that is being emitted.
struct LoweringContext {
  LoweringContext(const ir::Program& lowered, const ir::Target& machine);

  const ir::Program& program;
  const ir::Target& target;
  ir::Nest nest;
  ir::Facts facts;  ///< of dims, of data that were checked, and of the loops that are open
  const StageTree tree;
  const ir::Groups groups;
  std::vector<StageLoops> loops;                         ///< per stage
  std::vector<Instance*> active;                         ///< per stage; null: not being emitted
  std::vector<std::pair<std::string, Storage>> storage;  ///< per live buffer; searched from the end
};

}  // namespace hone::jit
