// SPDX-License-Identifier: Apache-2.0
#include "schedules/space/rules.h"
#include "schedules/steps/edit.h"

namespace hone::schedules {
namespace {

bool apply(Plan& plan, const std::string& name) {
  const ir::Stage& s = plan.stage(name);
  if (!s.at.root() || s.loops.empty()) return false;
  const ir::Loop& outermost = s.loops.front();
  if (outermost.mark != ir::Mark::kSerial || is_reduction(s, outermost.name)) return false;
  return plan.add("parallel " + name + "/" + outermost.name);
}

}  // namespace

const Rule kLaunch = {
    "launch",
    "The outermost loop of a stage at the root runs in parallel, unless it is reduced or a vector.",
    apply,
};

}  // namespace hone::schedules
