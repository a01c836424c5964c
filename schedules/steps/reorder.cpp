// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "schedules/steps/edit.h"
#include "schedules/steps/rows.h"

namespace hone::schedules {
namespace {

Applied apply_reorder(ir::Program p, const Step& step) {
  auto refs = find_loops(p, step.names("loops"));
  if (!refs) return refs.failure();
  ir::Stage& s = p.stages.edit(refs->front().stage);
  std::vector<size_t> positions;
  std::vector<ir::Loop> loops;
  for (const LoopRef& r : *refs) {
    positions.push_back(r.loop);
    loops.push_back(s.loops[r.loop]);
  }
  std::sort(positions.begin(), positions.end());
  for (size_t i = 0; i < positions.size(); ++i) s.loops[positions[i]] = loops[i];
  return p;
}

}  // namespace

const StepRow kReorder = {
    "reorder",
    {{Arg::kLoops, "loops"}},
    "The loops named, all of one stage, take the places they hold together in the order named.\n"
    "for m: for n: for k: B  =>  reorder k m  =>  for k: for n: for m: B",
    apply_reorder,
};

}  // namespace hone::schedules
