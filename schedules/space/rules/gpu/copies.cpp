// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "jit/ir/scatter.h"
#include "schedules/space/rules/rule.h"

namespace hone::schedules {
namespace {

/// Threads that look at terms, all together: one for each element and part.
/// Tuned on: no GPU; reckoned as those that an H100 has at a time.
constexpr int64_t kAllThreads = int64_t{1} << 18;
/// Elements up to which terms are cut into parts, and the least terms of one.
/// Chosen: so that adding up the parts is little beside them (not measured).
constexpr int64_t kMostCopied = int64_t{1} << 14, kLeastPart = 256;

bool apply_gpu_copies(Plan& plan, const std::string& name) {
  const ir::Stage s = plan.stage(name);
  if (ir::scattered_vars(s).empty()) return plan.declines("no term tells where it goes");
  const StageFacts facts = plan.facts(name);
  const int64_t elements = facts.points(s.vars), terms = facts.extent(s.rvars.back().name);
  if (elements > kMostCopied)
    return plan.declines("there are threads enough, one for each element");
  const int64_t parts = std::min(kAllThreads / elements, terms / kLeastPart);
  if (parts < 2) return plan.declines("there are too few terms to cut");
  const int64_t part = (terms + parts - 1) / parts;
  return plan.add(
      step::split_reduction({name, s.rvars.back().name}, part, plan.fresh_stage(name + ".q")));
}

}  // namespace

const Rule gpu::kCopies = {
    "copies",
    "Terms that go to few elements are cut into parts, each with a copy of the elements, so that "
    "the whole device takes part. A second launch adds up the copies.",
    apply_gpu_copies,
    /*forwards=*/false,
    /*ordered=*/true,
};

}  // namespace hone::schedules
