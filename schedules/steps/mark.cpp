// SPDX-License-Identifier: Apache-2.0
#include "schedules/steps/mark.h"

#include "schedules/steps/edit.h"

namespace hone::schedules {

Applied mark_loops(ir::Program program, const std::vector<std::string>& names, ir::Mark mark) {
  for (const std::string& name : names) {
    auto at = find_loop(program, name);
    if (!at) return at.failure();
    ir::Stage& s = program.stages.edit(at->stage);
    ir::Loop& loop = s.loops[at->loop];
    if (loop.mark != ir::Mark::kSerial && loop.mark != mark) {
      return ir::Reject{"loop " + loop.name + " is marked " + std::string(name_of(loop.mark)) +
                        " already; a loop takes one mark"};
    }
    if (loop.gpu.depth > 1 && mark != ir::Mark::kUnroll) {
      return ir::Reject{"loop " + loop.name +
                        " is a pipeline, whose iterations follow one another; " +
                        "split it and mark the other loop"};
    }
    if (mark == ir::Mark::kParallel && is_reduction(s, loop.name)) {
      return ir::Reject{"loop " + loop.name + " is reduced, so its iterations write one element; " +
                        "use rfactor and make its result parallel"};
    }
    if (ir::is_block(mark) && is_reduction(s, loop.name)) {
      return ir::Reject{"loop " + loop.name + " is reduced, so its iterations write one element; " +
                        "bind it to threads, or use rfactor and bind its result"};
    }
    loop.mark = mark;
  }
  return program;
}

}  // namespace hone::schedules
