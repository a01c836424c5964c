// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "jit/native/lir.h"
#include "jit/native/liveness.h"

namespace hone::jit {

/// A way to spill a register: keep it in memory for a while.
struct SpillChoice {
  enum Kind : uint8_t {
    kEverywhere,  ///< always: loaded for every use, stored after every write
    kAround,      ///< through a loop that does not mention it
    kGap,         ///< within one block, between two mentions
  } kind = kEverywhere;
  float price = 0;    ///< memory accesses times 10^depth, per position that is freed
  int32_t loop = -1;  ///< kAround: index in Liveness::loops
  int32_t from = 0;   ///< kGap: stored before this instruction
  int32_t to = 0;     ///< kGap: loaded before this one
};

/// Prices of spilling, worked out as they are asked for.
class SpillCosts {
 public:
  SpillCosts(const Lir& lir, const Liveness& liveness) : lir_(lir), live_(liveness) {}

  /// The cheapest way to free the register that `reg` holds at `position`. kGap only with
  /// `gaps`; never for a register that begins there.
  SpillChoice cheapest(int reg, int position, bool gaps);

 private:
  struct LoopFacts {
    std::vector<bool> mentions;
    bool exits_at_end = false;
  };
  void prepare();
  const LoopFacts& facts(size_t loop);
  SpillChoice everywhere(int reg, int position) const;
  SpillChoice around(int reg, int position);
  SpillChoice gap(int reg, int position) const;
  bool through(int reg, const LoopSpan& span) const;
  int depth_at(int position) const;

  const Lir& lir_;
  const Liveness& live_;
  bool prepared_ = false;
  std::vector<int32_t> first_mention_;  ///< per register, in mentions_; one past the last
  std::vector<int32_t> mentions_;       ///< instructions that touch it, in order
  std::vector<int8_t> depth_;           ///< per instruction
  std::vector<LoopFacts> loop_facts_;
};

/// The labels that stand right after instruction `at`: [first, last).
std::pair<int, int> labels_after(const Lir& lir, int at);

}  // namespace hone::jit
