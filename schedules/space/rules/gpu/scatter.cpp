// SPDX-License-Identifier: Apache-2.0
#include "jit/ir/scatter.h"

#include <algorithm>

#include "schedules/space/analysis/gpu.h"
#include "schedules/space/analysis/shape.h"
#include "schedules/space/rules/rule.h"

namespace hone::schedules {
namespace {

/// Elements up to which a thread for each looks at all terms. Beyond, terms go to their elements,
/// one after the other.
/// Tuned on: no GPU; reckoned from 500 ns to a term that waits for memory. One that all threads of
/// an H100 look at takes 2 ns.
constexpr int64_t kMostElements = int64_t{1} << 26;
/// Threads of a block.
/// Tuned on: no GPU; reckoned for an H100.
constexpr int64_t kScatterThreads = 128;

bool apply_gpu_scatter(Plan& plan, const std::string& name) {
  const std::vector<ir::ScatteredVar> scattered = ir::scattered_vars(plan.stage(name));
  if (scattered.empty()) return plan.declines("no term tells where it goes");
  plan.finish(name);
  const ir::Stage s = plan.stage(name);
  const StageFacts facts = plan.facts(name);
  const bool owned = facts.points(s.vars) <= kMostElements;
  std::vector<std::string> apart;
  std::vector<ir::Place> places;
  for (const ir::IndexVar& v : s.vars) {
    const bool told =
        std::any_of(scattered.begin(), scattered.end(),
                    [&](const ir::ScatteredVar& other) { return other.var == v.name; });
    if (told && !owned) {
      places.push_back({name, v.name});
    } else {
      apart.push_back(v.name);
    }
  }
  if (!places.empty() && !plan.add(step::scatter(places))) return false;
  if (apart.empty()) return true;  // one thread runs it
  std::stable_sort(apart.begin(), apart.end(), [&](const std::string& a, const std::string& b) {
    return std::abs(facts.store.stride(a)) > std::abs(facts.store.stride(b));
  });
  std::vector<std::string> order = apart;
  for (const ir::Place& p : places) order.push_back(p.loop);
  if (!order_loops(plan, name, order, {})) return false;
  std::vector<std::string> blocks = fuse_loops(plan, name, apart);
  const std::string last = blocks.back();
  const Number threads = plan.knob(knob_name("threads", name), {32, 64, 128, 256}, kScatterThreads);
  if (!plan.add(step::split({name, last}, threads, last + ".b", last + ".t"))) return false;
  blocks.back() = last + ".b";
  return bind_blocks(plan, name, blocks) &&
         plan.add(step::bind({name, last + ".t"}, ir::Mark::kThreadX)) && lowers(plan);
}

}  // namespace

const Rule gpu::kScatter = {
    "scatter",
    "A reduction whose terms tell to which element they go: a thread for each element looks at all "
    "terms, in order. Of very many elements a thread for each of a row takes the terms one after "
    "the other, to where they go.",
    apply_gpu_scatter,
    /*forwards=*/false,
    /*ordered=*/true,
};

}  // namespace hone::schedules
