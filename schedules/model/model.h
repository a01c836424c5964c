// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "jit/ir/nest.h"
#include "jit/ir/program.h"
#include "jit/ir/target.h"

namespace hone::schedules {

/// What takes time in a call on a CPU. The estimate is a sum of all, each times a weight.
enum class Term : uint8_t {
  kPorts,       ///< cycles of the busiest port of each straight part
  kIssue,       ///< cycles to issue the instructions of all kinds
  kChain,       ///< cycles that dependent additions make ports wait
  kHorizontal,  ///< lanes of a vector that are combined, by halves
  kLoops,       ///< iterations of loops
  kEntries,     ///< loops that are begun, and end in a branch that was not foreseen
  kTests,       ///< conditions that choose between statements
  kSpills,      ///< registers kept in memory
  kScattered,   ///< lanes of strided vectors, loaded or stored one by one
  kFaults,      ///< masked loads of no element, from absent memory
  kCode,        ///< cycles of ports, times how far the code exceeds what is kept decoded
  kL2,          ///< lines from the cache of the second level
  kL3,          ///< lines from the third
  kMemory,      ///< lines from memory
  kThreads,     ///< launches that wake threads
  kPages,       ///< pages that iterations leap to
  kUnaligned,   ///< vectors that may lie across two lines
  kStreamed,    ///< lines stored past the caches, though these would hold them
};
/// How many there are.
/// Fixed by: the list above.
inline constexpr size_t kTerms = 18;

/// One number for each term.
using Terms = std::array<double, kTerms>;

/// The name of a term, as `ports`.
std::string_view name_of(Term term);

/// Cycles that one of each term takes, where nothing is known of the machine.
const Terms& default_weights();

/// Weights as text, `ports=1 issue=0.2 ...`.
std::string print_weights(const Terms& weights);

/// The weights of such a text. Terms that it does not name, or not soundly, have default weights.
Terms parse_weights(std::string_view text);

/// The sum of the terms, each times its weight.
double weigh(const Terms& terms, const Terms& weights);

/// The terms of one call on a CPU, all launches but those at bind.
Terms terms_of(const ir::Nest& nest, const ir::Target& target);

/// Estimated cycles of one call, for ranking schedules of one problem. Infinite where the program
/// does not lower; 1 on a GPU, since there is no model of GPUs: nothing is ranked.
double estimate(const ir::Program& scheduled, const ir::Target& target,
                const Terms& weights = default_weights());

/// Instructions of a quotient that is another one in each lane of a vector, and known of none.
/// Tuned on: Zen 5 (AVX2): averages over windows that quotients bound took 18 cycles for each.
inline constexpr double kQuotientOfLanes = 24;

/// What the rules compare, of all launches but those at bind. It knows ports, chains, registers and
/// code size, and nothing of caches; and it is the same whatever was measured.
struct Work {
  double cycles = 0;  ///< of one call
  double code = 0;    ///< instructions that there are
  /// Instructions that one call runs, by the ports that they take.
  double arithmetic = 0, loads = 0, stores = 0;
};
Work examine(const ir::Nest& nest, const ir::Target& target);

/// The same of a program; infinite cycles where it does not lower.
Work examine(const ir::Program& scheduled, const ir::Target& target);

}  // namespace hone::schedules
