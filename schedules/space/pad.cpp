// SPDX-License-Identifier: Apache-2.0
#include "schedules/space/rules.h"
#include "schedules/steps/edit.h"

namespace hone::schedules {
namespace {

bool apply_pad(Plan& plan, const std::string& name) {
  const ir::Stage s = plan.stage(name);
  if (s.reduce == ir::Reduce::kNone || !s.at.root()) return false;
  std::vector<std::string> guarded;
  for (const Access& a : plan.facts(name).loads) {
    if (a.guarded && !a.gathers) guarded.push_back(a.buffer);
  }
  bool any = false;
  for (const std::string& tensor : guarded) {
    if (plan.decide("pad " + tensor, 2, 1) == 0) continue;
    std::string copy = tensor + ".g";
    while (!taken_stage(plan.program(), copy).empty()) copy += "g";
    Plan::Mark before = plan.mark();
    const bool staged = plan.add("stage " + tensor + " at root -> " + copy);
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

const Rule kPad = {
    "pad",
    "A tensor that a reduction reads beyond its borders is copied with the border around it, so "
    "that no load of the reduction is tested.",
    apply_pad,
};

}  // namespace hone::schedules
