// SPDX-License-Identifier: Apache-2.0
#include "runtime/model/memory_plan.h"

#include <algorithm>
#include <numeric>

#include "jit/ir/integers.h"

namespace hone::runtime {
namespace {

int64_t most_alive(const std::vector<Lifetime>& tensors) {
  int64_t most = 0;
  for (const Lifetime& at : tensors) {
    int64_t alive = 0;
    for (const Lifetime& t : tensors) {
      if (t.first <= at.first && at.first <= t.last) alive += ir::round_up(t.bytes, kPlanAlignment);
    }
    most = std::max(most, alive);
  }
  return most;
}

struct Placed {
  int64_t begin, end;
};

/// The start of the smallest gap of `bytes` between those taken, which are sorted; else their end.
int64_t best_fit(const std::vector<Placed>& taken, int64_t bytes) {
  int64_t end = 0, best = -1, smallest = INT64_MAX;
  for (const Placed& p : taken) {
    const int64_t gap = p.begin - end;
    if (gap >= bytes && gap < smallest) {
      smallest = gap;
      best = end;
    }
    end = std::max(end, p.end);
  }
  return best < 0 ? end : best;
}

}  // namespace

MemoryPlan plan_memory(const std::vector<Lifetime>& tensors) {
  MemoryPlan plan;
  plan.offsets.assign(tensors.size(), 0);
  std::vector<size_t> order(tensors.size()), done;
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return tensors[a].bytes > tensors[b].bytes; });
  for (const size_t i : order) {
    const Lifetime& t = tensors[i];
    std::vector<Placed> taken;
    for (const size_t j : done) {
      const Lifetime& other = tensors[j];
      if (other.last < t.first || t.last < other.first) continue;
      taken.push_back(
          {plan.offsets[j], plan.offsets[j] + ir::round_up(other.bytes, kPlanAlignment)});
    }
    std::sort(taken.begin(), taken.end(),
              [](const Placed& a, const Placed& b) { return a.begin < b.begin; });
    const int64_t bytes = ir::round_up(t.bytes, kPlanAlignment);
    plan.offsets[i] = best_fit(taken, bytes);
    plan.bytes = std::max(plan.bytes, plan.offsets[i] + bytes);
    done.push_back(i);
  }
  plan.least = most_alive(tensors);
  return plan;
}

}  // namespace hone::runtime
