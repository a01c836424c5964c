// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "jit/ir/recurrence.h"
#include "schedules/steps/edit.h"
#include "schedules/steps/rows.h"
#include "schedules/steps/stage_copy.h"

namespace hone::schedules {
namespace {

/// Why the results of a stage cannot lie in a tensor of their own first; empty where they can.
std::string no_results(const ir::Program& p, size_t at) {
  const ir::Stage& s = p.stages[at];
  const bool recurs = ir::is_recurrence(s);
  if (s.reduce == ir::Reduce::kNone && !recurs) {
    return "stage " + s.name + " does not reduce; precompute its value";
  }
  if (s.from_old) return "stage " + s.name + " goes on from what " + s.output + " holds";
  if (!s.at.root() || !s.relations.empty() || !s.factored.empty()) {
    return "stage " + s.name + " has steps already; write to a copy before any of them";
  }
  if (reads(s, s.output) && s.reduce != ir::Reduce::kNone) {
    return "stage " + s.name + " reads " + s.output + ", which it writes";
  }
  std::string wrong = recurs ? shared_chains(p, at) : std::string();
  return wrong.empty() ? windowless(s) : wrong;
}

/// Turns the stage into a copy of `made`, which has its sums.
void become_copy_of(ir::Stage& s, const ir::Buffer& made, DType type) {
  const ir::Expr load = ir::make_load(made.name, made.type, s.out_index);
  s.value = made.type == type ? load : ir::make_cast(type, load);
  s.reduce = ir::Reduce::kNone;
  s.where = without(s.where, s.rvars);
  std::erase_if(s.loops, [&](const ir::Loop& l) { return s.is_reduction_var(l.name); });
  s.rvars.clear();
  for (ir::IndexVar& v : s.vars) v.backward = false;
  s.prefetches.clear();
  gather_results(s.loops);
}

Applied apply_cache_write(ir::Program p, const Step& step) {
  auto found = find_stage(p, step.name("stage"));
  if (!found) return found.failure();
  ir::Stage made = p.stages[*found];
  std::string wrong = no_results(p, *found);
  if (wrong.empty()) wrong = taken_stage(p, step.name("made"));
  if (!wrong.empty()) return ir::Reject{std::move(wrong)};
  std::vector<std::string> dims;
  for (const ir::Expr& e : made.out_index) {
    dims.push_back(e->op == ir::Op::kVar ? e->name : "");
  }
  auto axes = layout_axes(step, step.name("made"), dims);
  if (!axes) return axes.failure();
  const ir::Buffer out = *p.buffer(made.output);
  ir::Buffer b;
  b.name = step.name("made");
  b.type = made.reduce == ir::Reduce::kNone ? out.type : made.accumulate;
  b.shape = out.shape;
  b.axes = *std::move(axes);
  move_places(p, made.name, [&](const ir::Place& place) { return ir::Place{b.name, place.loop}; });
  become_copy_of(p.stages.edit(*found), b, out.type);
  for_each_expr(made, [&](ir::Expr& e) { e = rename_loads(e, out.name, b.name); });
  made.name = made.output = b.name;
  p.buffers.push_back(std::move(b));
  p.stages.insert(*found, std::move(made));
  return p;
}

}  // namespace

const StepRow kCacheWrite = {
    "cache_write",
    {{Arg::kStage, "stage"}, {Arg::kWord, "->"}, {Arg::kNew, "made"}, {Arg::kLayout, "layout"}},
    "A stage that reduces, or goes on from its own results, writes to a tensor of its own, laid "
    "out "
    "as is said, and becomes a copy of that. Before any other step of it.\n"
    "Y[i,j] = sum[k](A[i,k]*B[k,j])  =>  cache_write Y -> T layout=[j][i]  =>  T[i,j] = "
    "sum[k](A[i,k]*B[k,j]); Y[i,j] = T[i,j]",
    apply_cache_write,
};

}  // namespace hone::schedules
