// SPDX-License-Identifier: Apache-2.0
#include "schedules/space/analysis/group_members.h"

#include <algorithm>

#include "jit/ir/recurrence.h"
#include "schedules/space/analysis/axis.h"
#include "schedules/steps/build.h"
#include "schedules/steps/edit.h"

namespace hone::schedules {

GroupMembers led_by(const Plan& plan, const std::string& stage) {
  if (!plan.recurs()) return {};
  const ir::Program& p = plan.program();
  const ir::Groups groups(p);
  const ir::Group* group = groups.of(p.stages.index_of(plan.stage(stage)));
  if (!group || p.stages[group->leader()].name != stage) return {};
  const auto order = groups.order(*group);
  if (!order) return {};
  GroupMembers out{stage, {}, *order};
  for (const size_t s : group->stages) {
    if (s != group->leader()) out.others.push_back(p.stages[s].name);
  }
  return out;
}

bool keeps_order(const Plan& plan, const std::string& stage) {
  if (!plan.recurs()) return false;
  const ir::Program& p = plan.program();
  const ir::Stage& s = plan.stage(stage);
  const ir::Groups groups(p);
  const ir::Group* group = groups.of(p.stages.index_of(s));
  if (group) return p.stages[group->leader()].name == stage;
  return ir::is_recurrence(s) && !ir::carried_state(p, s);
}

bool in_steps(const Plan& plan, const std::string& stage) {
  if (!plan.recurs()) return false;
  const ir::Groups groups(plan.program());
  return groups.of(plan.program().stages.index_of(plan.stage(stage))) != nullptr;
}

bool keep_near(Plan& plan, const GroupMembers& group) {
  for (const std::string& name : group.others) {
    const ir::Program& p = plan.program();
    const ir::Stage& s = plan.stage(name);
    const bool own = p.buffer(s.output)->role == ir::Role::kTemp && s.at.stage == group.leader;
    const bool read_here = std::all_of(p.stages.begin(), p.stages.end(), [&](const ir::Stage& r) {
      return !reads(r, s.output) || r.name == group.leader || is_inside(p, r.at, s.at);
    });
    if (!own || !read_here || ir::Groups(p).is_carried(p.stages.index_of(s))) continue;
    if (!plan.add(step::compute({name}, s.at))) return false;
  }
  return true;
}

}  // namespace hone::schedules
