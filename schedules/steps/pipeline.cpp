// SPDX-License-Identifier: Apache-2.0
#include "schedules/steps/edit.h"
#include "schedules/steps/rows.h"

namespace hone::schedules {
namespace {

/// Iterations that a block's shared memory may hold at a time.
/// Chosen: more than shared memory holds of a usual tile (not measured).
constexpr int64_t kMost = 8;

Applied apply_pipeline(ir::Program p, const Step& step) {
  auto at = find_loop(p, step.name("loop"));
  if (!at) return at.failure();
  const ir::Stage& s = p.stages[at->stage];
  ir::Loop& loop = p.stages.edit(at->stage).loops[at->loop];
  const int64_t depth = step.number("depth");
  if (depth < 1 || depth > kMost) {
    return ir::Reject{"depth=" + std::to_string(depth) + "; a pipeline's depth is 1 to " +
                      std::to_string(kMost) + ", 1 being none"};
  }
  if (loop.mark != ir::Mark::kSerial) {
    return ir::Reject{"loop " + loop.name + " is marked " + std::string(name_of(loop.mark)) +
                      "; iterations of a pipeline follow one another"};
  }
  bool shares = false;
  for (const ir::Stage& other : p.stages) {
    shares |= other.at == ir::Place{s.name, loop.name} &&
              p.buffer(other.output)->space == ir::Space::kSharedMemory;
  }
  if (!shares) {
    return ir::Reject{"nothing is kept in=shared at " + s.name + "/" + loop.name +
                      "; stage there what its iterations read, first"};
  }
  loop.gpu.depth = static_cast<int>(depth);
  return p;
}

}  // namespace

const StepRow kPipeline = {
    "pipeline",
    {{Arg::kLoop, "loop"}, {Arg::kSetting, "depth", nullptr, "stages"}},
    "What is kept in=shared at the loop is put there depth-1 iterations before it is read, while "
    "the iterations before compute; shared memory holds `depth` iterations. Copies are "
    "asynchronous where the GPU has that.\n"
    "for k: As = A[k]; C += As  =>  pipeline k depth=2  =>  As0 = A[0]; for k: As1 = A[k+1]; "
    "C += As0; swap",
    apply_pipeline,
};

}  // namespace hone::schedules
