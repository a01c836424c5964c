// SPDX-License-Identifier: Apache-2.0
#include "schedules/steps/edit.h"
#include "schedules/steps/rows.h"

namespace hone::schedules {
namespace {

Applied apply_specialize(ir::Program p, const Step& step) {
  auto at = find_loop(p, step.name("loop"));
  if (!at) return at.failure();
  ir::Loop& loop = p.stages.edit(at->stage).loops[at->loop];
  if (loop.gpu.depth < 2) {
    return ir::Reject{"loop " + loop.name +
                      " is no pipeline of depth 2 or more, which threads of its own could fill; "
                      "pipeline it first"};
  }
  loop.gpu.specialized = true;
  return p;
}

}  // namespace

const StepRow kSpecialize = {
    "specialize",
    {{Arg::kLoop, "loop"}},
    "Threads of their own, besides those that the loops are bound to, fill a pipeline's buffers by "
    "TMA copies, as fast as the others are done with them (warp specialization). Nobody waits at a "
    "barrier of the block.\n"
    "for k: fill buffer; wait; C += As  =>  specialize k  =>  producer: for k: wait until free; "
    "fill buffer; consumers: for k: wait until full; C += As; free buffer",
    apply_specialize,
};

}  // namespace hone::schedules
