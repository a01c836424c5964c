// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "jit/native/lir.h"
#include "jit/native/machine.h"

namespace hone::jit {

/// A register that an instruction touches.
struct Touch {
  int32_t reg = -1;
  bool use = false;
  bool def = false;
  bool low = false;  ///< the instruction reaches the low registers only
};

/// Half-open stretch of positions. Instruction i reads at 2i and writes at 2i+1.
struct Range {
  int32_t from = 0;
  int32_t to = 0;
  int32_t next = -1;  ///< index of the following range of the same register
};

/// A loop: the positions in `code` of its loop_begin and loop_end.
struct LoopSpan {
  int head = 0;
  int end = 0;
  int depth = 1;  ///< 1 for outermost loops
  bool innermost = true;
};

/// Where every register of a Lir is live, and what its instructions touch.
struct Liveness {
  std::vector<Touch> touches;
  std::vector<int32_t> first_touch;  ///< per instruction, and one past the last
  std::vector<Range> ranges;
  std::vector<int32_t> head;      ///< per register: its first range, or -1
  std::vector<int32_t> end;       ///< per register: where its last range ends
  std::vector<float> weight;      ///< per register: touches times 10^depth
  std::vector<uint8_t> low;       ///< per register: confined to the low ones
  std::vector<LoopSpan> loops;    ///< in order of their heads
  std::vector<int32_t> label_at;  ///< per label: its instruction, or -1
  std::vector<int32_t> blocks;    ///< where straight stretches begin, and one past the last

  std::span<const Touch> of(int inst) const {
    return {touches.data() + first_touch[inst], touches.data() + first_touch[inst + 1]};
  }
};

/// The label an instruction may jump to, or -1.
int jump_target(const Inst& inst);

/// Computes liveness. Throws std::logic_error where the code breaks Lir's contract (an operand no
/// form fits, a backward jump to a plain label).
Liveness liveness_of(const Lir& lir, const Machine& machine);

}  // namespace hone::jit
