// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "jit/ir/program.h"
#include "schedules/step.h"

namespace hone::schedules {

/// A loop of a program, by position.
struct LoopRef {
  size_t stage = 0;
  size_t loop = 0;  ///< index in Stage::loops
};

/// The leaf loop called `name`: `stage/loop`, or `loop` where only one stage has it.
Result<LoopRef, ir::Reject> find_loop(const ir::Program& program, const std::string& name);

/// The loops called `names`, all of one stage. A bare name that several stages have means the one
/// of the stage that the other names fix.
Result<std::vector<LoopRef>, ir::Reject> find_loops(const ir::Program& program,
                                                    const std::vector<std::string>& names);

/// Index of the stage called `name`.
Result<size_t, ir::Reject> find_stage(const ir::Program& program, const std::string& name);

/// Index of the buffer called `name`.
Result<size_t, ir::Reject> find_buffer(const ir::Program& program, const std::string& name);

/// Index in `loops` of the loop called `name`; the number of loops when there is none.
size_t position_of(const ir::Stage& stage, std::string_view name);

/// A reason when `name` cannot be a new loop of `stage`: it names a variable or loop of it already.
std::string taken_loop(const ir::Stage& stage, const std::string& name);
/// A reason when `name` cannot be a new stage and buffer.
std::string taken_stage(const ir::Program& program, const std::string& name);

/// A reason why `loop` of `stage` cannot be replaced by others. A stage is placed there, a prefetch
/// stands there, or the loop is an index of the output (`factored`).
std::string pinned_loop(const ir::Program& program, const ir::Stage& stage,
                        const std::string& loop);

/// The variables that `loop` (leaf or not) derives from.
std::vector<std::string> roots_of(const ir::Stage& stage, const std::string& loop);
/// True when a variable that `loop` derives from is reduced.
bool is_reduction(const ir::Stage& stage, const std::string& loop);
/// Iterations of `loop` over its variable's whole domain.
ir::Expr extent_of(const ir::Stage& stage, const std::string& loop);

/// A reason why no window of what `stage` writes can be told: it is not indexed by variables alone.
std::string windowless(const ir::Stage& stage);

/// A reason why what a recurrence goes on from cannot lie in a tensor of its own. Other stages
/// write it, or go on from it as well. `stage`: its index.
std::string shared_chains(const ir::Program& program, size_t stage);

/// A reason why the terms of `stage` cannot be reduced elsewhere first: which of them came last
/// takes part.
std::string no_partial_results(const ir::Stage& stage);
/// Loops of a stage whose terms went elsewhere: none is scattered.
void gather_results(std::vector<ir::Loop>& loops);

/// The reduced variable of `stage` whose range follows an index of its results; null where all
/// ranges are the same.
const ir::IndexVar* bounded_by_results(const ir::Stage& stage);

/// True of a quotient of f32 or f64 that index `var` changes, but not its divisor. Marked ones are
/// none.
bool divides_by_one_value(const ir::Expr& e, std::string_view var);
/// The last index of a stage's loops that changes a quotient but not its divisor; "" where there is
/// none.
std::string dividing_loop(const ir::Stage& stage);

/// True when the stage's definition (value, where, domains, indices) loads `buffer`.
bool reads(const ir::Stage& stage, std::string_view buffer);

/// A reason why stage `from` cannot be computed where stage `to` is. It reads the old value of an
/// inout, which has a new one by then.
std::string stale_by(const ir::Program& program, size_t from, size_t to);

/// True when `place` stands at `loop` of `stage` or inside it, going outwards through placements.
bool is_inside(const ir::Program& program, const ir::Place& place, const ir::Place& loop);

/// What the option `in=` names: scratch, registers, shared or warp.
ir::Space space_named(std::string_view in);

/// True where an extent is a number or known at the call.
bool is_size(const ir::Expr& extent);

/// Replaces variables by expressions, by name.
ir::Expr substitute(const ir::Expr& e, const std::map<std::string, ir::Expr>& by_name);
/// The conjuncts of `where` that mention none of `variables`; null when none is left.
ir::Expr without(const ir::Expr& where, const std::vector<ir::IndexVar>& variables);
/// True when `where` holds as a conjunct of `all`, which may be null.
bool implied(const ir::Expr& where, const ir::Expr& all);
/// Whether the indices of `load` lie in a tensor of `shape`; null where it has no dims.
ir::Expr in_range(const ir::Expr& load, const std::vector<ir::Expr>& shape);
/// Renames the buffer `from` to `to` in every load.
ir::Expr rename_loads(const ir::Expr& e, const std::string& from, const std::string& to);
/// Applies `f` to every expression of a stage's definition.
template <class F>
void for_each_expr(ir::Stage& stage, const F& f) {
  f(stage.value);
  if (stage.where) f(stage.where);
  for (ir::Expr& e : stage.out_index) f(e);
  for (auto* list : {&stage.vars, &stage.rvars}) {
    for (ir::IndexVar& v : *list) {
      if (v.lo) f(v.lo);
      f(v.hi);
    }
  }
}

/// Puts what stands in a loop of `stage` where `f` says, which takes a place and returns one.
template <class F>
void move_places(ir::Program& program, const std::string& stage, const F& f) {
  for (size_t i = 0; i < program.stages.size(); ++i) {
    for (ir::Place ir::Stage::*which : {&ir::Stage::at, &ir::Stage::store}) {
      const ir::Place& place = program.stages[i].*which;
      if (place.stage != stage) continue;
      const ir::Place moved = f(place);
      if (!(moved == place)) program.stages.edit(i).*which = moved;
    }
    for (size_t k = 0; k < program.stages[i].prefetches.size(); ++k) {
      const ir::Place& outer = program.stages[i].prefetches[k].outer;
      if (outer.stage != stage) continue;
      const ir::Place moved = f(outer);
      if (!(moved == outer)) program.stages.edit(i).prefetches[k].outer = moved;
    }
  }
}

/// `a`, `a and b`, `a, b and c`.
std::string list_text(const std::vector<std::string>& names);

}  // namespace hone::schedules
