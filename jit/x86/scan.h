// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "jit/x86/lir.h"
#include "jit/x86/liveness.h"

namespace hone::jit {

/// What to do with registers that found no room.
struct SpillPlan {
  /// A register that is kept in memory through a loop that does not mention it.
  struct Around {
    int32_t reg = -1;
    int32_t loop = -1;  ///< index in Liveness::loops
  };
  std::vector<int32_t> everywhere;
  std::vector<Around> around;
  bool empty() const { return everywhere.empty() && around.empty(); }
};

/// Physical registers for all virtual ones, or the plan of what to spill before trying again.
struct Scan {
  std::vector<int8_t> physical;  ///< per register; -1 where it is never live or spilled
  SpillPlan plan;
};

/// One pass of linear scan. `pinned[r]`: the register is spill code and must get a register.
Scan scan(const Lir& lir, const Liveness& liveness, const RegisterFile& file,
          const std::vector<bool>& pinned);

/// `lir` with the plan carried out: slots, reloads, repeated constants, folded operands. New
/// registers are pinned. `slots` holds each register's place in the frame, or -1; `frame` grows.
Lir rewrite_spills(const Lir& lir, const Liveness& liveness, const SpillPlan& plan,
                   const RegisterFile& file, std::vector<int32_t>& slots, int& frame,
                   std::vector<bool>& pinned);

/// For a loop: labels right after its end that all jumps out of it go to. False when some jump
/// leaves elsewhere, so that code cannot be placed on every way out.
bool exits_at_end(const Lir& lir, const Liveness& liveness, const LoopSpan& loop);

}  // namespace hone::jit
