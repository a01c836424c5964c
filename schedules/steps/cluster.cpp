// SPDX-License-Identifier: Apache-2.0
#include "schedules/steps/edit.h"
#include "schedules/steps/rows.h"

namespace hone::schedules {
namespace {

/// Blocks of a cluster that every GPU with clusters runs.
/// Fixed by: CUDA.
constexpr int64_t kSizes[] = {2, 4, 8};

Applied apply_cluster(ir::Program p, const Step& step) {
  auto at = find_loop(p, step.name("loop"));
  if (!at) return at.failure();
  ir::Stage& s = p.stages.edit(at->stage);
  ir::Loop& loop = s.loops[at->loop];
  const int64_t blocks = step.number("blocks");
  bool known = false;
  for (int64_t size : kSizes) known |= size == blocks;
  if (!known) {
    return ir::Reject{"clusters of " + std::to_string(blocks) + " blocks; they have 2, 4 or 8"};
  }
  if (!ir::is_block(loop.mark)) {
    return ir::Reject{"the iterations of loop " + loop.name +
                      " are no blocks; bind it to block.x, block.y or block.z first"};
  }
  for (const ir::Loop& other : s.loops) {
    if (other.gpu.cluster == 1 || other.name == loop.name) continue;
    return ir::Reject{"the blocks of loop " + other.name +
                      " run in clusters already; a launch has clusters along one loop"};
  }
  loop.gpu.cluster = static_cast<int>(blocks);
  return p;
}

}  // namespace

const StepRow kCluster = {
    "cluster",
    {{Arg::kLoop, "loop"}, {Arg::kNumber, "blocks"}},
    "BLOCKS neighbouring blocks run together. What all of them copy by TMA into specialized "
    "pipelines, each copies a part of, for all.\n"
    "block n: for k: As = A[k]; Bs = B[k,n]  =>  cluster n 2  =>  block n: for k: half of As = "
    "half of A[k], in both blocks; Bs = B[k,n]",
    apply_cluster,
};

}  // namespace hone::schedules
