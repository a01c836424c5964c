// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "jit/ir/nest.h"
#include "jit/ir/program.h"
#include "jit/ir/target.h"

namespace hone::schedules {

/// Estimated cycles of one call on one thread of a CPU. Only good for ranking schedules of one
/// problem: ports, load and store counts, dependency chains, register pressure, code size. Infinite
/// where the program does not lower; 1 on a GPU, since there is no model of GPUs: nothing is
/// ranked.
double estimate(const ir::Program& scheduled, const ir::Target& target);

/// The same of a lowered program.
double estimate(const ir::Nest& nest, const ir::Target& target);

/// What an estimate finds, of all launches but those at bind.
struct Work {
  double cycles = 0;  ///< of one call
  double code = 0;    ///< instructions that there are
  /// Instructions that one call runs, by the ports that they take.
  double arithmetic = 0, loads = 0, stores = 0;
};
Work examine(const ir::Nest& nest, const ir::Target& target);

}  // namespace hone::schedules
