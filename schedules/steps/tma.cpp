// SPDX-License-Identifier: Apache-2.0
#include "schedules/steps/edit.h"
#include "schedules/steps/rows.h"

namespace hone::schedules {
namespace {

Applied apply_tma(ir::Program p, const Step& step) {
  auto found = find_stage(p, step.name("copy"));
  if (!found) return found.failure();
  ir::Stage& s = p.stages.edit(*found);
  if (p.buffer(s.output)->space != ir::Space::kSharedMemory) {
    return ir::Reject{s.output + " is not kept in=shared, where TMA copies go; stage it there"};
  }
  if (s.reduce != ir::Reduce::kNone || s.value->op != ir::Op::kLoad) {
    return ir::Reject{"stage " + s.name +
                      " computes what it stores; only what `stage` copies as it " +
                      "is can be copied by TMA"};
  }
  s.tma = true;
  return p;
}

}  // namespace

const StepRow kTma = {
    "tma",
    {{Arg::kStage, "copy"}},
    "A copy into shared memory is done by TMA of a GPU (sm_90). A thread starts the copy of a box, "
    "mbarriers say when it is there, and outside the tensor are zeros. The copy's own loops run no "
    "more; at a pipelined loop it fills the pipeline's buffers.\n"
    "for k: for d0: for d1: As[d0,d1] = A[d0,d1]  =>  tma As  =>  for k: As[..] = box of A",
    apply_tma,
    "bulk",
};

}  // namespace hone::schedules
