// SPDX-License-Identifier: Apache-2.0
#include "schedules/steps/mark.h"
#include "schedules/steps/rows.h"

namespace hone::schedules {
namespace {

Applied apply_parallel(ir::Program p, const Step& step) {
  return mark_loops(std::move(p), step.names("loops"), ir::Mark::kParallel);
}

}  // namespace

const StepRow kParallel = {
    "parallel",
    {{Arg::kLoops, "loops"}},
    "Spreads the iterations of a stage's outermost loop over threads. The stage is at the root; "
    "fuse loops first to make several parallel.\n"
    "for m.o: B  =>  parallel m.o  =>  parallel for m.o: B",
    apply_parallel,
};

}  // namespace hone::schedules
