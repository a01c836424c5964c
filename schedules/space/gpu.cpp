// SPDX-License-Identifier: Apache-2.0
#include "schedules/space/gpu.h"

#include <algorithm>

#include "jit/passes/lower.h"

namespace hone::schedules {

std::vector<std::string> fuse_loops(Plan& plan, const std::string& stage,
                                    std::vector<std::string> loops) {
  // From the inside, so that a range known only at the call stays outermost.
  while (loops.size() > 1) {
    const std::string inner = loops.back(), outer = loops[loops.size() - 2];
    const std::string fused = outer + "." + inner;
    if (!plan.add("fuse " + stage + "/" + outer + " " + stage + "/" + inner + " -> " + fused))
      break;
    loops.pop_back();
    loops.back() = fused;
  }
  return loops;
}

bool bind_blocks(Plan& plan, const std::string& stage, const std::vector<std::string>& loops) {
  if (loops.size() > 3) return false;
  for (size_t i = 0; i < loops.size(); ++i) {
    const std::string axis(1, "xyz"[loops.size() - 1 - i]);
    if (!plan.add("bind " + stage + "/" + loops[i] + " block." + axis)) return false;
  }
  return true;
}

bool bind_threads(Plan& plan, const std::string& stage, const std::string& var, int64_t threads,
                  const std::string& axis) {
  const int64_t extent = plan.facts(stage).extent(var);
  if (extent <= threads) {
    return plan.add("bind " + stage + "/" + plan.loop_of(stage, var) + " thread." + axis);
  }
  const Plan::Halves h = plan.split(stage, var, std::to_string(threads));
  return !h.outer.empty() && plan.add("bind " + stage + "/" + h.inner + " thread." + axis);
}

bool lowers(const Plan& plan) {
  return static_cast<bool>(jit::lower(plan.program(), plan.target()));
}

int64_t threads_for(int64_t extent) {
  int64_t threads = 32;
  while (threads < kBlockThreads && threads * 2 <= extent) threads *= 2;
  return threads;
}

}  // namespace hone::schedules
