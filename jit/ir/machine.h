// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "jit/ir/target.h"

namespace hone::ir {

/// The machine that code is for, as one value for rules, models and limits. Facts that a target
/// does not state, such as ports and latencies, are those of a recent core. They are tuned on Zen 4
/// and Zen 5; only proportions matter there.
struct Machine {
  int threads = 1;
  int vector_bytes = 0;  ///< of a register; 0 without AVX2
  int vector_registers = 16;
  bool masks_lanes = false;  ///< a part of a register's lanes costs what all of them do
  int64_t l1d = 0;           ///< bytes
  int64_t l2 = 0;            ///< bytes per core
  int64_t l3 = 0;            ///< bytes that a core finds there again
  int64_t line_bytes = 64;
  /// Hardware brings lines from the second cache to the first ahead of any stream. AMD's cores do;
  /// Intel's look a line ahead.
  bool streams_to_l1 = false;
  /// Hardware that looks ahead stops at a page's end, and memory beyond a tensor may be absent.
  int64_t page_bytes = 4096;

  double arithmetic_ports = 2;  ///< instructions a cycle, as are the others
  double load_ports = 2;
  double store_ports = 1;
  double issue_width = 6;               ///< instructions of all kinds
  double l3_bytes = 32;                 ///< that a core moves a cycle, about, from the last cache
  double memory_bytes = 16;             ///< and from memory
  double multiply_add_latency = 4;      ///< cycles
  double loop_overhead = 1.5;           ///< cycles of one iteration of a serial loop
  double decoded_instructions = 4000;   ///< that the cache of decoded instructions takes
  double spill_cycles = 3;              ///< of a register kept in memory
  double fault_cycles = 100;            ///< of a masked load of no element, from absent memory
  double cycles_to_wake_thread = 8000;  ///< and to wait for it: two microseconds

  int multiprocessors = 0;         ///< of a GPU; where the target does not say, of a large one
  int64_t block_shared_bytes = 0;  ///< shared memory that a block may have
};

/// The machine of a target.
Machine machine_of(const Target& target);

}  // namespace hone::ir
