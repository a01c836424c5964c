// SPDX-License-Identifier: Apache-2.0
#include "schedules/steps/edit.h"
#include "schedules/steps/rows.h"

namespace hone::schedules {
namespace {

/// Why stage `s` cannot stand in a loop of `owner`; empty when it can.
std::string objection_compute(const ir::Program& p, size_t s, size_t owner) {
  const ir::Stage& stage = p.stages[s];
  if (s >= owner) {
    return "stage " + p.stages[owner].name + " does not come after " + stage.name +
           ", so it cannot read it; a stage is computed in a loop of its readers";
  }
  const ir::Buffer* b = p.buffer(stage.output);
  if (b->role != ir::Role::kTemp) {
    return stage.name + " writes " + b->name + ", which the caller keeps; use stage to copy a " +
           "window of it";
  }
  return windowless(stage);
}

Applied place(ir::Program p, const std::string& name, const LoopRef& at, const Step& step) {
  auto found = find_stage(p, name);
  if (!found) return found.failure();
  std::string wrong = objection_compute(p, *found, at.stage);
  if (!wrong.empty()) return ir::Reject{std::move(wrong)};
  ir::Stage& s = p.stages.edit(*found);
  const ir::Stage& owner = p.stages[at.stage];
  s.at = {owner.name, owner.loops[at.loop].name};
  s.store = {};
  if (step.at("store").present) {
    auto store = find_loop(p, step.name("store"));
    if (!store) return store.failure();
    const ir::Stage& keeper = p.stages[store->stage];
    s.store = {keeper.name, keeper.loops[store->loop].name};
    if (!is_inside(p, s.at, s.store)) {
      return ir::Reject{"loop " + step.name("store") + " does not enclose " + step.name("loop") +
                        "; " + name + " is kept at a loop around the one that computes it"};
    }
  }
  p.buffers.edit(*find_buffer(p, s.output)).space = space_named(step.name("in"));
  return p;
}

Applied apply_compute(ir::Program p, const Step& step) {
  auto at = find_loop(p, step.name("loop"));
  if (!at) return at.failure();
  for (const std::string& name : step.names("stages")) {
    Applied placed = place(std::move(p), name, *at, step);
    if (!placed) return placed.failure();
    p = *std::move(placed);
  }
  return p;
}

}  // namespace

const StepRow kCompute = {
    "compute",
    {{Arg::kStages, "stages"},
     {Arg::kWord, "at"},
     {Arg::kLoop, "loop"},
     {Arg::kClause, "store"},
     {Arg::kChoice, "in", "scratch|registers|shared|warp"}},
    "Produces what the body of a loop needs of a stage at the start of each iteration, and keeps "
    "it "
    "there; with `store`, at a loop further out, so that later readers find it.\n"
    "for i: for j: e = ..; for i: s += e[i,j]  =>  compute e at s/j  =>  for i: for j: e = ..; s "
    "+= e",
    apply_compute,
};

}  // namespace hone::schedules
