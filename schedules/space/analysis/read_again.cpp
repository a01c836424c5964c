// SPDX-License-Identifier: Apache-2.0
#include "schedules/space/analysis/read_again.h"

#include <algorithm>

#include "schedules/space/analysis/facts.h"

namespace hone::schedules {
namespace {

/// Bytes that `access` reads again.
int64_t read_again(const Plan& plan, const Access& access,
                   const std::vector<Iterations>& iterations) {
  const int64_t bytes = bytes_of(plan.program(), *plan.program().buffer(access.buffer));
  int64_t parts = 1, times = 1;
  for (const Iterations& i : iterations) {
    const bool moves = std::any_of(access.indices.begin(), access.indices.end(),
                                   [&](const ir::Expr& e) { return ir::mentions_var(e, i.var); });
    int64_t& count = moves ? parts : times;
    count = saturating_product(count, std::max<int64_t>(i.count, 1));
  }
  return bytes / parts <= plan.machine().l2 / 2 ? 0 : saturating_product(bytes, times - 1);
}

}  // namespace

bool read_again_too_much(const Plan& plan, const IteratedStages& stages) {
  int64_t kept = 0;
  std::map<std::string, int64_t> again;  // several accesses find what the first has read
  for (const auto& [name, iterations] : stages) {
    kept += bytes_of(plan.program(), *plan.program().buffer(plan.stage(name).output));
    for (const Access& a : plan.facts(name).loads) {
      int64_t& most = again[a.buffer];
      most = std::max(most, read_again(plan, a, iterations));
    }
  }
  int64_t bytes = 0;
  for (const auto& [buffer, most] : again) bytes += most;
  return bytes > 2 * kept;
}

}  // namespace hone::schedules
