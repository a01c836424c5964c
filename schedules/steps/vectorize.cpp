// SPDX-License-Identifier: Apache-2.0
#include "schedules/steps/mark.h"
#include "schedules/steps/rows.h"

namespace hone::schedules {
namespace {

Applied apply_vectorize(ir::Program p, const Step& step) {
  return mark_loops(std::move(p), step.names("loops"), ir::Mark::kVector);
}

}  // namespace

const StepRow kVectorize = {
    "vectorize",
    {{Arg::kLoops, "loops"}},
    "Runs iterations of a loop as lanes of vectors. A loop longer than the vector is cut into "
    "vectors and unrolled. Loops inside it must be unrolled; a stage has one vector loop.\n"
    "for n.i in 0..64: Y[n.i] = f(n.i)  =>  vectorize n.i  =>  Y[0:16] = f(0:16) .. Y[48:64] = ..",
    apply_vectorize,
};

}  // namespace hone::schedules
