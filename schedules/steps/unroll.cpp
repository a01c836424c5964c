// SPDX-License-Identifier: Apache-2.0
#include "schedules/steps/mark.h"
#include "schedules/steps/rows.h"

namespace hone::schedules {
namespace {

Applied apply_unroll(ir::Program p, const Step& step) {
  return mark_loops(std::move(p), step.names("loops"), ir::Mark::kUnroll);
}

}  // namespace

const StepRow kUnroll = {
    "unroll",
    {{Arg::kLoops, "loops"}},
    "Writes the body of each loop once per iteration; the extent must be a constant.\n"
    "for m.i in 0..3: B(m.i)  =>  unroll m.i  =>  B(0) B(1) B(2)",
    apply_unroll,
};

}  // namespace hone::schedules
