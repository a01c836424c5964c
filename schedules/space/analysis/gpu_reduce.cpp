// SPDX-License-Identifier: Apache-2.0
#include "schedules/space/analysis/gpu_reduce.h"

#include <algorithm>

#include "jit/ir/device_limits.h"
#include "schedules/space/analysis/gpu.h"
#include "schedules/space/analysis/gpu_product.h"
#include "schedules/steps/edit.h"

namespace hone::schedules {
namespace {

/// Rows from which a warp to each fills a GPU, and threads that do.
/// Tuned on: no GPU; reckoned for an H100.
constexpr int64_t kManyRows = 2048;
constexpr int64_t kReduceFilling = 256 << 10;
/// Elements of a thread that are enough under way.
/// Tuned on: no GPU; reckoned for an H100.
constexpr int64_t kFewHeld = kMostHeld / 2;
/// Threads of a warp.
/// Fixed by: CUDA.
constexpr int64_t kWarp = ir::DeviceLimits::kWarp;

/// True where the loads that move along `inner` or `outer` run through both as through one range.
bool one_range_reduce(const StageFacts& facts, const std::string& outer, const std::string& inner) {
  return std::all_of(facts.loads.begin(), facts.loads.end(), [&](const Access& a) {
    return a.stride(outer) == facts.extent(inner) * a.stride(inner);
  });
}

}  // namespace

bool is_product(const Plan& plan, const std::string& name) {
  const ir::Stage& s = plan.stage(name);
  const StageFacts& facts = plan.facts(name);
  const bool plain = std::none_of(facts.loads.begin(), facts.loads.end(),
                                  [](const Access& a) { return a.gathers || a.guarded; });
  if (!plain || s.where) return false;
  int axes = 0;
  for (const ir::IndexVar& v : s.vars) {
    if (facts.bounds.contains(v.name)) continue;
    const bool again = std::any_of(facts.loads.begin(), facts.loads.end(),
                                   [&](const Access& a) { return a.stride(v.name) == 0; });
    axes += again && facts.extent(v.name) >= kShortestSide ? 1 : 0;
  }
  return s.reduce != ir::Reduce::kNone && axes >= 2 && facts.loads.size() >= 2;
}

RowMembers beside(const Plan& plan, const ir::Stage& root, std::vector<std::string>& prefix) {
  RowMembers out = row_members(plan, root, prefix, Kept::kNot);
  const auto& stages = plan.program().stages;
  for (size_t i = stages.size();
       i-- > 0;) {  // consumers first: producers of those left out stay out
    const auto found = out.find(stages[i].name);
    if (found == out.end()) continue;
    const bool several = found->second.size() < stages[i].vars.size();
    bool apart =
        stages[i].reduce != ir::Reduce::kNone && (several || is_product(plan, stages[i].name));
    for (size_t r : readers_of(plan.program(), stages[i].output)) {
      apart |= stages[r].name != root.name && !out.contains(stages[r].name);
    }
    if (apart) out.erase(found);
  }
  if (out.empty()) prefix.clear();
  return out;
}

int64_t typical_terms(const Plan& plan, const std::string& name, const std::string& var) {
  const StageFacts& facts = plan.facts(name);
  const ir::IndexVar* v = plan.stage(name).var(var);
  bool data = false;
  if (v && v->lo) data |= ir::mentions_load(v->hi);
  if (!data) return facts.extent(var);
  const int64_t ranges = facts.points(facts.bounds);
  for (const Access& a : facts.loads) {
    for (size_t d = 0; d < a.indices.size(); ++d) {
      if (plain_var(a.indices[d]) != var) continue;
      const ir::Buffer& b = *plan.program().buffer(a.buffer);
      return std::max<int64_t>(1, typical(plan.program(), b.shape[d]) / ranges);
    }
  }
  return facts.extent(var);
}

Along reduced_along(const Plan& plan, const std::string& name) {
  const StageFacts& facts = plan.facts(name);
  const ir::Stage& s = plan.stage(name);
  const auto contiguous = [&](const std::string& var) {
    bool some = false;
    for (const Access& a : facts.loads) {
      if (a.gathers || a.guarded || a.stride(var) > 1 || a.stride(var) < 0) return false;
      some |= a.stride(var) == 1;
    }
    return some;
  };
  Along out;
  for (size_t r = s.rvars.size(); r-- > 0;) {
    const ir::IndexVar& v = s.rvars[r];
    if (facts.bounds.contains(v.name) || !contiguous(v.name)) continue;
    out.loops = {v.name};
    out.extent = typical_terms(plan, name, v.name);
    out.ragged = static_cast<bool>(v.lo);
    // What lies just outside in memory belongs to the same range.
    while (!out.ragged && r-- > 0) {
      const ir::IndexVar& next = s.rvars[r];
      if (next.lo || !one_range_reduce(facts, next.name, out.loops.front())) break;
      out.loops.insert(out.loops.begin(), next.name);
      out.extent = saturating_product(out.extent, facts.extent(next.name));
    }
    break;
  }
  return out.extent < kShortestRow ? Along{} : out;
}

RowThreads row_threads(Plan& plan, int64_t rows, int64_t extent, int64_t width) {
  const auto share = [&](int64_t held) {
    const int64_t threads = (extent + held - 1) / held;
    return threads <= kWarp ? power_of_two(threads) : (threads + kWarp - 1) / kWarp * kWarp;
  };
  const auto narrow = [&](int64_t threads) {
    int64_t w = width;
    while (w > 1 && threads * w > extent) w /= 2;
    return w;
  };
  const bool many = rows >= kManyRows && extent <= kWarp * kMostHeld;
  const int warp = extent < 2 * kWarp ? 1 : plan.decide("a warp to a row", 2, many ? 1 : 0);
  if (warp == 1) {
    // Two vectors to a thread, but every lane of a warp where rows are too few to fill the GPU.
    const int64_t held = rows >= kManyRows ? 2 * width : width;
    const int64_t threads = std::clamp<int64_t>(share(held), 2, kWarp);
    return {threads, std::clamp<int64_t>(rows, 1, kBlockThreads / threads), narrow(threads)};
  }
  const int64_t wanted = power_of_two(filling(plan, kReduceFilling) / std::max<int64_t>(1, rows));
  int64_t threads = std::max(std::min(share(kFewHeld), kBlockThreads), share(kMostHeld));
  threads = std::max(threads, std::min(share(width), wanted));
  threads = std::clamp<int64_t>(threads, kWarp, ir::DeviceLimits::kBlockThreads);
  return {threads, 1, narrow(threads)};
}

bool reduce_by_threads(Plan& plan, const std::string& name, const Along& along,
                       const Number& threads, ir::Mark axis, int64_t width) {
  const std::vector<std::string> loops = fuse_loops(plan, name, along.loops);
  if (loops.size() != 1) return false;
  const std::string range = cut_vectors(plan, name, loops[0], width);
  const std::string inner = range + ".t", outer = range + ".e";
  if (range.empty()) return false;
  if (!plan.add(step::split({name, range}, threads, outer, inner))) return false;
  // Threads outside all that is reduced: they are combined once.
  const ir::Stage s = plan.stage(name);
  std::vector<std::string> order = {inner};
  for (const ir::Loop& l : s.loops) {
    const bool factored =
        std::find(s.factored.begin(), s.factored.end(), l.name) != s.factored.end();
    if (l.name != inner && is_reduction(s, l.name) && !factored) order.push_back(l.name);
  }
  if (!plan.add(step::reorder(loops_of(name, order))) ||
      !plan.add(step::bind({name, inner}, axis))) {
    return false;
  }
  if (axis == ir::Mark::kThreadX) {
    unroll_share(plan, name, outer, along.extent, threads.value(), width);
  }
  return true;
}

}  // namespace hone::schedules
