// SPDX-License-Identifier: Apache-2.0
#include "jit/ir/scatter.h"

#include "schedules/steps/edit.h"
#include "schedules/steps/mark.h"
#include "schedules/steps/rows.h"

namespace hone::schedules {
namespace {

Applied apply_scatter(ir::Program p, const Step& step) {
  const std::vector<std::string> names = step.names("loops");
  for (const std::string& name : names) {
    auto at = find_loop(p, name);
    if (!at) return at.failure();
    const ir::Stage& s = p.stages[at->stage];
    const std::string& loop = s.loops[at->loop].name;
    if (ir::scattered_to(s, loop)) continue;
    return ir::Reject{"terms of stage " + s.name + " do not tell where along " + loop +
                      " they go; scatter an index of `where " + loop + " == ...`"};
  }
  return mark_loops(std::move(p), names, ir::Mark::kScatter);
}

}  // namespace

const StepRow kScatter = {
    "scatter",
    {{Arg::kLoops, "loops"}},
    "Of an index that terms tell: each term goes to its element, instead of each element looking "
    "at all terms. The loop runs where results begin.\n"
    "for r: for n: if r == ids[n]: Y[r] += V[n]  =>  scatter r  =>  for r: Y[r] = 0; for n: "
    "Y[ids[n]] += V[n]",
    apply_scatter,
};

}  // namespace hone::schedules
