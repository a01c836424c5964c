// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "schedules/space/rules.h"
#include "schedules/space/shape.h"
#include "schedules/steps/edit.h"

namespace hone::schedules {
namespace {

/// Loops of one iteration in front of the first longer one go inside it: they leave threads nothing
/// to share.
void skip_single(Plan& plan, const std::string& name) {
  const ir::Stage s = plan.stage(name);
  size_t longer = 0;
  while (longer < s.loops.size() &&
         typical(plan.program(), extent_of(s, s.loops[longer].name)) == 1) {
    for (const ir::Stage& other : plan.program().stages) {
      if (other.at.stage == name && other.at.loop == s.loops[longer].name) return;
    }
    ++longer;
  }
  if (longer == 0 || longer == s.loops.size()) return;
  const ir::Loop& first = s.loops[longer];
  if (first.mark != ir::Mark::kSerial || is_reduction(s, first.name)) return;
  const std::vector<std::string> roots = roots_of(s, first.name);
  for (size_t i = 0; i < longer; ++i) {
    for (const std::string& root : roots_of(s, s.loops[i].name)) {
      if (std::find(roots.begin(), roots.end(), root) != roots.end()) return;  // of one split
    }
  }
  std::vector<std::string> rest;
  for (const ir::Loop& l : s.loops) {
    if (l.name != first.name) rest.push_back(l.name);
  }
  order_loops(plan, name, rest);
}

bool apply_launch(Plan& plan, const std::string& name) {
  if (!plan.stage(name).at.root()) return false;
  skip_single(plan, name);
  const ir::Stage s = plan.stage(name);
  if (s.loops.empty()) return false;
  const ir::Loop& outermost = s.loops.front();
  if (outermost.mark != ir::Mark::kSerial || is_reduction(s, outermost.name)) return false;
  return plan.add("parallel " + name + "/" + outermost.name);
}

}  // namespace

const Rule kLaunch = {
    "launch",
    "The outermost loop of a stage at the root, of more than one iteration where there is one, "
    "runs "
    "in parallel, unless it is reduced or a vector.",
    apply_launch,
};

}  // namespace hone::schedules
