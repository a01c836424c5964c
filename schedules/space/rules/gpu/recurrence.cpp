// SPDX-License-Identifier: Apache-2.0
#include "jit/ir/recurrence.h"

#include <algorithm>
#include <cstdlib>

#include "schedules/space/analysis/gpu.h"
#include "schedules/space/analysis/group_members.h"
#include "schedules/space/analysis/shape.h"
#include "schedules/space/rules/rule.h"
#include "schedules/steps/edit.h"

namespace hone::schedules {
namespace {

/// Threads of a block: few, so that chains reach more multiprocessors.
/// Tuned on: no GPU; reckoned for an H100.
constexpr int64_t kChainThreads = 64;

/// A thread to each chain of `name`; inside it, the other loops in order.
bool spread_chains(Plan& plan, const std::string& name, std::vector<std::string> chains) {
  const ir::Stage s = plan.stage(name);
  const Access store = plan.facts(name).store;
  std::stable_sort(chains.begin(), chains.end(), [&](const std::string& a, const std::string& b) {
    return std::abs(store.stride(a)) > std::abs(store.stride(b));
  });
  std::vector<std::string> ordered;
  for (const ir::Loop& l : s.loops) {
    if (std::find(chains.begin(), chains.end(), l.name) == chains.end()) ordered.push_back(l.name);
  }
  if (!order_loops(plan, name, chains, ordered)) return false;
  std::vector<std::string> blocks = fuse_loops(plan, name, chains);
  const std::string last = blocks.back();
  const Number threads = plan.knob(knob_name("threads", name), {32, 64, 128, 256}, kChainThreads);
  if (!plan.add(step::split({name, last}, threads, last + ".b", last + ".t"))) return false;
  blocks.back() = last + ".b";
  return bind_blocks(plan, name, blocks) &&
         plan.add(step::bind({name, last + ".t"}, ir::Mark::kThreadX)) && lowers(plan);
}

bool apply_gpu_recurrence(Plan& plan, const std::string& name) {
  if (!keeps_order(plan, name)) return plan.declines("the stage does not read itself");
  const GroupMembers group = led_by(plan, name);
  for (const std::string& other : group.others) plan.finish(other);
  plan.finish(name);
  std::vector<std::string> chains =
      group ? group.order.chains : ir::independent_vars(plan.stage(name));
  if (chains.empty()) return true;  // one thread runs it
  return spread_chains(plan, name, std::move(chains));
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
