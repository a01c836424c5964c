// SPDX-License-Identifier: Apache-2.0
#include "schedules/steps/edit.h"
#include "schedules/steps/rows.h"

namespace hone::schedules {
namespace {

Applied apply_stream(ir::Program p, const Step& step) {
  auto tensor = find_buffer(p, step.name("tensor"));
  if (!tensor) return tensor.failure();
  ir::Buffer& b = p.buffers.edit(*tensor);
  const ir::Stage* producer = p.producer(b.name);
  if (!producer)
    return ir::Reject{"nothing is stored to " + b.name + "; stream what a stage writes"};
  for (const ir::Stage& s : p.stages) {
    if (reads(s, b.name)) {
      return ir::Reject{"stage " + s.name + " reads " + b.name +
                        ", which streaming keeps out of the " +
                        "caches; stream a tensor that is only written"};
    }
  }
  if (producer->reduce != ir::Reduce::kNone) {
    return ir::Reject{"stage " + producer->name + " accumulates into " + b.name +
                      ", so it is read back; stage it in registers first"};
  }
  b.stream = true;
  return p;
}

}  // namespace

const StepRow kStream = {
    "stream",
    {{Arg::kTensor, "tensor"}},
    "Stores a tensor past the caches, for outputs that exceed the last level.\n"
    "Y[i] = ..  =>  stream Y  =>  Y[i] = .. with non-temporal stores",
    apply_stream,
};

}  // namespace hone::schedules
