// SPDX-License-Identifier: Apache-2.0
#include "schedules/space/rules/rule.h"
#include "schedules/steps/edit.h"

namespace hone::schedules {
namespace {

/// Whether a copy with borders pays. It does for rows longer than half a vector, and where results
/// share elements, as a convolution's channels do. It does, too, where neighbouring results read
/// elements apart, which would be tested lane by lane. Else the tests cost less.
bool copy_pays(const Plan& plan, const std::string& stage, const std::string& tensor) {
  const ir::Buffer& b = *plan.program().buffer(tensor);
  int64_t row = 0;
  if (b.shape.empty() || !ir::is_const(b.shape.back(), &row)) return true;
  if (2 * row > plan.lanes(b.type)) return true;
  const StageFacts facts = plan.facts(stage);
  for (const Access& a : facts.loads) {
    if (a.buffer != tensor) continue;
    for (const ir::IndexVar& v : plan.stage(stage).vars) {
      if (facts.extent(v.name) <= 1) continue;
      const bool apart = facts.store.stride(v.name) == 1 && a.stride(v.name) != 1;
      if (a.stride(v.name) == 0 || apart) return true;
    }
  }
  return false;
}

/// Elements of all iterations of a stage.
int64_t iterations(const Plan& plan, const std::string& stage) {
  const StageFacts facts = plan.facts(stage);
  int64_t count = 1;
  for (const ir::IndexVar& v : plan.stage(stage).vars) count *= facts.extent(v.name);
  for (const ir::IndexVar& v : plan.stage(stage).rvars) count *= facts.extent(v.name);
  return count;
}

/// Adds the copy of a tensor. False, nothing changed and `plan` told why, where that leaves a load
/// of it guarded.
bool copy_with_borders(Plan& plan, const std::string& stage, const std::string& tensor,
                       const std::string& copy) {
  Plan::Mark before = plan.mark();
  bool done = plan.add(step::stage(tensor, {}, copy));
  if (done) {
    for (const Access& a : plan.facts(stage).loads) done &= !a.guarded || a.buffer != copy;
    if (!done) plan.declines("a load of " + tensor + " is tested with a border around it, too");
  }
  if (!done) plan.rewind(std::move(before));
  return done;
}

/// True for a copy that is half border and whose elements are read twice at most. Such a copy costs
/// more than the tests that it saves.
bool mostly_border(Plan& plan, const std::string& stage, const std::string& tensor,
                   const std::string& copy) {
  Plan::Mark before = plan.mark();
  if (!copy_with_borders(plan, stage, tensor, copy)) return false;
  const int64_t copied = iterations(plan, copy);
  int64_t elements = 1;
  for (const ir::Expr& extent : plan.program().buffer(tensor)->shape) {
    elements *= typical(plan.program(), extent);
  }
  const bool wasted = copied >= 2 * elements && 2 * copied >= iterations(plan, stage);
  plan.rewind(std::move(before));
  return wasted;
}

bool apply_pad(Plan& plan, const std::string& name) {
  const ir::Stage s = plan.stage(name);
  if (s.reduce == ir::Reduce::kNone) return plan.declines("the stage does not reduce");
  if (!s.at.root()) return plan.declines("the stage is computed inside another");
  plan.declines("no load of it leaves its tensor");
  std::vector<std::string> guarded;
  for (const Access& a : plan.facts(name).loads) {
    if (a.guarded && a.gathers) plan.declines("data choose where it reads " + a.buffer);
    if (a.guarded && !a.gathers) guarded.push_back(a.buffer);
  }
  bool any = false;
  for (const std::string& tensor : guarded) {
    const std::string copy = plan.fresh_stage(tensor + ".g");
    const bool shared = copy_pays(plan, name, tensor);
    const bool pays = shared && !mostly_border(plan, name, tensor, copy);
    if (plan.decide("pad " + tensor, 2, pays) == 0) {
      plan.declines(pays     ? tensor + " was decided to stay without a border"
                    : shared ? "a copy of " + tensor + " would be half border, read twice at most"
                             : "rows of " + tensor +
                                   " are half a vector at most, and results share none of it");
      continue;
    }
    any |= copy_with_borders(plan, name, tensor, copy);
  }
  return any;
}

}  // namespace

const Rule cpu::kPad = {
    "pad",
    "A tensor that a reduction reads beyond its borders is copied with the border around it, so "
    "that no load of the reduction is tested.",
    apply_pad,
};

}  // namespace hone::schedules
