// SPDX-License-Identifier: Apache-2.0
#include "jit/ir/scatter.h"
#include "schedules/steps/edit.h"
#include "schedules/steps/rows.h"

namespace hone::schedules {
namespace {

/// Where a stage is kept: at a loop, or as long as the call lasts.
constexpr const char* kRootName = "root";

/// Why stage `s` cannot stand in a loop of `owner`; empty when it can.
std::string objection_compute(const ir::Program& p, size_t s, size_t owner) {
  const ir::Stage& stage = p.stages[s];
  if (s >= owner) {
    return "stage " + p.stages[owner].name + " does not come after " + stage.name +
           ", so it cannot read it; a stage is computed in a loop of its readers";
  }
  if (!ir::scattered_vars(stage).empty()) {
    return "terms of stage " + stage.name + " go to any of its elements; leave it at the root";
  }
  const std::string wrong = stale_by(p, s, owner);
  return wrong.empty() ? windowless(stage) : wrong;
}

/// Why what stage `s` writes cannot be kept as `step` says; empty when it can.
std::string objection_kept(const ir::Program& p, const ir::Stage& s, const Step& step) {
  const ir::Buffer* b = p.buffer(s.output);
  const bool ours = b->role == ir::Role::kTemp, root = step.name("store") == kRootName;
  if (ours && !root) return {};
  const std::string who = ours ? s.name + " is kept at the root" : b->name + " is the caller's";
  if (space_named(step.name("in")) != ir::Space::kScratch) {
    return who + ", which has no in=" + step.name("in") + "; leave it out";
  }
  if (!ours && !root && step.at("store").present) {
    return who + ", so it cannot be kept at " + step.name("store") + "; leave out `store`";
  }
  return {};
}

Applied place(ir::Program p, const std::string& name, const LoopRef& at, const Step& step) {
  auto found = find_stage(p, name);
  if (!found) return found.failure();
  std::string wrong = objection_compute(p, *found, at.stage);
  if (wrong.empty()) wrong = objection_kept(p, p.stages[*found], step);
  if (!wrong.empty()) return ir::Reject{std::move(wrong)};
  ir::Stage& s = p.stages.edit(*found);
  const ir::Stage& owner = p.stages[at.stage];
  s.at = {owner.name, owner.loops[at.loop].name};
  s.store = {};
  if (step.name("store") == kRootName) {
    p.buffers.edit(*find_buffer(p, s.output)).space = ir::Space::kRoot;
    return p;
  }
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
  ir::Buffer& b = p.buffers.edit(*find_buffer(p, s.output));
  if (b.role == ir::Role::kTemp) b.space = space_named(step.name("in"));
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
    "it there; with `store`, at a loop further out or the `root`, so that later readers find it. "
    "An output is kept at the root. Of a stage that the body does not read, each iteration "
    "computes its own part.\n"
    "for i: for j: e = ..; for i: s += e[i,j]  =>  compute e at s/j  =>  for i: for j: e = ..; s "
    "+= e",
    apply_compute,
};

}  // namespace hone::schedules
