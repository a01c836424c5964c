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

bool apply_pad(Plan& plan, const std::string& name) {
  const ir::Stage s = plan.stage(name);
  if (s.reduce == ir::Reduce::kNone) return plan.declines("the stage does not reduce");
  if (!s.at.root()) return plan.declines("the stage is computed inside another");
  plan.declines("no load of it leaves its tensor, or a copy with borders does not pay");
  std::vector<std::string> guarded;
  for (const Access& a : plan.facts(name).loads) {
    if (a.guarded && !a.gathers) guarded.push_back(a.buffer);
  }
  bool any = false;
  for (const std::string& tensor : guarded) {
    if (plan.decide("pad " + tensor, 2, copy_pays(plan, name, tensor)) == 0) continue;
    const std::string copy = plan.fresh_stage(tensor + ".g");
    Plan::Mark before = plan.mark();
    const bool staged = plan.add(step::stage(tensor, {}, copy));
    bool left = false;
    for (const Access& a : plan.facts(name).loads) left |= a.guarded && a.buffer == copy;
    if (!staged || left) {
      plan.rewind(std::move(before));
    } else {
      any = true;
    }
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
