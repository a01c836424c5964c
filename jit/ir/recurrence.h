// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "jit/ir/program.h"
#include "jit/ir/reject.h"

namespace hone::ir {

/// Calls f on every load that computing the stage performs.
template <class F>
void each_read(const Stage& stage, const F& f) {
  const auto look = [&](const Expr& root) {
    if (!root) return;
    visit(root, [&](const Expr& e) {
      if (e->op == Op::kLoad) f(e);
    });
  };
  look(stage.value);
  look(stage.where);
  for (const auto* vars : {&stage.vars, &stage.rvars}) {
    for (const IndexVar& v : *vars) {
      look(v.lo);
      look(v.hi);
    }
  }
}

/// A read of a stage of what the stage itself writes, at another element than the one it writes: a
/// loop-carried dependence.
struct CarriedRead {
  Expr load;
  /// Per var of the stage, in iterations of its loop: how far from the one that reads the one is
  /// that writes. Negative is earlier; nothing where it differs from read to read.
  std::vector<std::optional<int64_t>> distance;
};

/// The carried reads of a stage. An element's own old value is none.
std::vector<CarriedRead> carried_reads(const Stage& stage);
/// Whether the stage has carried reads: its loops run in an order.
bool is_recurrence(const Stage& stage);
/// Whether some stage of the program is a recurrence, or several are one together.
bool has_recurrence(const Program& program);
/// The vars whose loops may run in any order: at each of their values a chain of its own.
std::vector<std::string> independent_vars(const Stage& stage);

/// Gives the loops of a new stage directions and an order in which each carried read comes after
/// its write. Where there are none: a read that is left over.
std::optional<CarriedRead> put_in_order(Stage& stage);

/// A recurrence in the registers of a warp, or kept at a loop around the one that computes it. It
/// keeps the last elements along one index and no others, from iteration to iteration of a loop.
struct CarriedState {
  size_t dim = 0;    ///< of the output
  std::string var;   ///< of the stage
  Expr first;        ///< what stands before the first: over the stage's vars, where `var` is 0
  int64_t kept = 1;  ///< elements along `dim`; the youngest is the first
};
std::optional<CarriedState> carried_state(const Program& program, const Stage& stage);
/// The same of a stage wherever it is kept: what would do for all that is read of it.
std::optional<CarriedState> youngest_read(const Program& program, const Stage& stage);
/// How many elements along a carried dim a reader goes back: 1 of `c - 1`, 0 of `c` or another.
int64_t goes_back(const Expr& index);

/// Whether a stage that goes on from itself is computed in another one's loop, in scratch. Chains
/// are whole there: lowering proves that.
bool holds_chains(const Program& program, const Stage& stage);

/// Why the loops of a stage may read an element before they write it. Nothing where each carried
/// read is proved to come after its write.
std::optional<Reject> broken_order(const Stage& stage);
/// The same; `inside`: what goes on in registers may be computed inside other stages' loops.
std::optional<Reject> broken_order(const Stage& stage, bool inside);
/// The same of a whole program: no stage either reads what no stage before it computes.
std::optional<Reject> broken_order(const Program& program);

}  // namespace hone::ir
