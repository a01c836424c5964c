// SPDX-License-Identifier: Apache-2.0
#include "schedules/steps/mark.h"
#include "schedules/steps/rows.h"

namespace hone::schedules {
namespace {

constexpr ir::Mark kAxes[] = {ir::Mark::kBlockX,  ir::Mark::kBlockY,  ir::Mark::kBlockZ,
                              ir::Mark::kThreadX, ir::Mark::kThreadY, ir::Mark::kThreadZ};

Applied apply_bind(ir::Program p, const Step& step) {
  for (ir::Mark axis : kAxes) {
    if (name_of(axis) == step.name("axis"))
      return mark_loops(std::move(p), step.names("loop"), axis);
  }
  return ir::Reject{"there is no axis " + step.name("axis")};
}

}  // namespace

const StepRow kBind = {
    "bind",
    {{Arg::kLoop, "loop"},
     {Arg::kOneOf, "axis", "block.x|block.y|block.z|thread.x|thread.y|thread.z"}},
    "Runs the iterations of a loop as blocks of a GPU's grid, or as threads of a block. Blocks are "
    "loops of a stage at the root, outside all others. The threads of a reduced loop combine what "
    "each has reduced.\n"
    "for m.o: for m.i: B  =>  bind m.o block.x; bind m.i thread.x  =>  block m.o: thread m.i: B",
    apply_bind,
};

}  // namespace hone::schedules
