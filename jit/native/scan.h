// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "jit/native/allocate.h"
#include "jit/native/liveness.h"

namespace hone::jit {

/// Spill plan: registers that found no room, and where each is kept in memory.
struct SpillPlan {
  /// A register that is kept in memory through a loop that does not mention it.
  struct Around {
    int32_t reg = -1;
    int32_t loop = -1;  ///< index in Liveness::loops
  };
  /// A register that is kept in memory within one block: stored before instruction `from`, loaded
  /// before instruction `to`.
  struct Gap {
    int32_t reg = -1;
    int32_t from = 0;
    int32_t to = 0;
  };
  std::vector<int32_t> everywhere;
  std::vector<Around> around;
  std::vector<Gap> gaps;
  bool empty() const { return everywhere.empty() && around.empty() && gaps.empty(); }
};

/// Physical registers for all virtual ones, or the plan of what to spill before trying again.
struct Scan {
  std::vector<int8_t> physical;  ///< per register; -1 where it is never live or spilled
  SpillPlan plan;
};

/// One pass of linear scan. `pinned[r]`: the register is spill code and must get a register.
/// Without `gaps` no register is planned to be in memory for part of a block only.
Scan scan(const Lir& lir, const Liveness& liveness, const RegisterFile& file,
          const std::vector<bool>& pinned, bool gaps);

/// Where registers live in memory.
struct SpillFrame {
  std::vector<int32_t> slots;  ///< per register: byte offset, or -1
  int bytes = 0;
};

/// `lir` with the plan carried out into `out`, whose memory is used again: slots, reloads, repeated
/// constants, folded operands. Registers made for one instruction are pinned.
void rewrite_spills(const Lir& lir, const Liveness& liveness, const SpillPlan& plan,
                    const RegisterFile& file, SpillFrame& frame, std::vector<bool>& pinned,
                    Lir& out);

}  // namespace hone::jit
