// SPDX-License-Identifier: Apache-2.0
#include "schedules/steps/edit.h"
#include "schedules/steps/rows.h"

namespace hone::schedules {
namespace {

Applied apply_partition(ir::Program p, const Step& step) {
  for (const std::string& name : step.names("loops")) {
    auto at = find_loop(p, name);
    if (!at) return at.failure();
    p.stages.edit(at->stage).loops[at->loop].partition = true;
  }
  return p;
}

}  // namespace

const StepRow kPartition = {
    "partition",
    {{Arg::kLoops, "loops"}},
    "Peels the first and last iterations, in which a condition (a border, `where`) may fail, so "
    "that the rest runs without a test.\n"
    "for h in 0..H: if h >= 1: B  =>  partition h  =>  h = 0: nothing; for h in 1..H: B",
    apply_partition,
};

}  // namespace hone::schedules
