// SPDX-License-Identifier: Apache-2.0
#include "jit/ir/recurrence.h"

#include "schedules/space/analysis/gpu.h"
#include "schedules/space/analysis/group_members.h"
#include "schedules/space/analysis/shape.h"
#include "schedules/space/rules/rule.h"

namespace hone::schedules {
namespace {

/// A thread to each chain, which keeps the last results in registers, where that is enough.
bool carry_chains(Plan& plan, const std::string& name, std::vector<std::string> chains) {
  const ir::Stage s = plan.stage(name);
  if (chains.size() + 1 != s.vars.size()) return false;
  Plan::Mark before = plan.mark();
  const std::string chain = plan.fresh_stage(name + ".c");
  if (plan.add(step::cache_write(name, chain, {})) &&
      spread_chains(plan, name, std::move(chains))) {
    const std::vector<ir::Loop>& loops = plan.stage(name).loops;
    const ir::Place thread{name, loops.end()[-2].name}, along{name, loops.back().name};
    plan.finish(chain);
    if (plan.add(step::compute({chain}, along, ir::Space::kRegisters, thread)) && lowers(plan)) {
      return true;
    }
  }
  plan.rewind(std::move(before));
  return false;
}

bool apply_gpu_recurrence(Plan& plan, const std::string& name) {
  if (!keeps_order(plan, name)) return plan.declines("the stage does not read itself");
  const GroupMembers group = led_by(plan, name);
  for (const std::string& other : group.others) plan.finish(other);
  plan.finish(name);
  std::vector<std::string> chains =
      group ? group.order.chains : ir::independent_vars(plan.stage(name));
  if (chains.empty()) return true;  // one thread runs it
  if (!group && carry_chains(plan, name, chains)) return true;
  return spread_chains(plan, name, std::move(chains)) && lowers(plan);
}

}  // namespace

const Rule gpu::kRecurrence = {
    "recurrence",
    "A stage that reads itself runs in order along the indices along which it does, in a thread "
    "for each value of the others. So do stages that read one another, together.",
    apply_gpu_recurrence,
    /*forwards=*/false,
    /*ordered=*/true,
};

}  // namespace hone::schedules
