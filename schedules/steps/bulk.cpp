// SPDX-License-Identifier: Apache-2.0
#include "schedules/steps/edit.h"
#include "schedules/steps/rows.h"

namespace hone::schedules {
namespace {

Applied apply_bulk(ir::Program p, const Step& step) {
  auto found = find_stage(p, step.name("copy"));
  if (!found) return found.failure();
  ir::Stage& s = p.stages.edit(*found);
  if (p.buffer(s.output)->space != ir::Space::kSharedMemory) {
    return ir::Reject{s.output + " is not kept in=shared, where bulk copies go; stage it there"};
  }
  if (s.reduce != ir::Reduce::kNone || s.value->op != ir::Op::kLoad) {
    return ir::Reject{"stage " + s.name +
                      " computes what it stores; only what `stage` copies as it " +
                      "is can be copied in bulk"};
  }
  s.bulk = true;
  return p;
}

}  // namespace

const StepRow kBulk = {
    "bulk",
    {{Arg::kStage, "copy"}},
    "Copies what a stage copies into shared memory by TMA of a GPU (sm_90): a thread "
    "starts the copy of a box, mbarriers say when it is there, and what lies outside the tensor is "
    "0. The copy's own loops run no more; at a pipelined loop it fills the pipeline's slots.\n"
    "for k: for d0: for d1: As[d0,d1] = A[d0,d1]  =>  bulk As  =>  for k: As[..] = box of A",
    apply_bulk,
};

}  // namespace hone::schedules
