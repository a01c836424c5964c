// SPDX-License-Identifier: Apache-2.0
#include "jit/ir/recurrence.h"

#include <algorithm>
#include <cstdlib>

#include "schedules/space/analysis/gpu.h"
#include "schedules/space/analysis/shape.h"
#include "schedules/space/rules/rule.h"
#include "schedules/steps/edit.h"

namespace hone::schedules {
namespace {

/// Threads of a block: few, so that chains reach more multiprocessors.
/// Tuned on: no GPU; reckoned for an H100.
constexpr int64_t kChainThreads = 64;

bool apply_gpu_recurrence(Plan& plan, const std::string& name) {
  const ir::Stage s = plan.stage(name);
  if (!ir::is_recurrence(s)) return plan.declines("the stage does not read itself");
  std::vector<std::string> chains = ir::independent_vars(s);
  plan.finish(name);
  if (chains.empty()) return true;  // one thread runs it
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

}  // namespace

const Rule gpu::kRecurrence = {
    "recurrence",
    "A stage that reads itself runs in order along the indices along which it does, in a thread "
    "for each value of the others.",
    apply_gpu_recurrence,
    /*forwards=*/false,
    /*ordered=*/true,
};

}  // namespace hone::schedules
