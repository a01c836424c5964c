// SPDX-License-Identifier: Apache-2.0
#include "schedules/steps/edit.h"
#include "schedules/steps/rows.h"

namespace hone::schedules {
namespace {

Applied apply_fuse(ir::Program p, const Step& step) {
  auto refs = find_loops(p, {step.name("outer"), step.name("inner")});
  if (!refs) return refs.failure();
  ir::Stage& s = p.stages.edit(refs->front().stage);
  const size_t at = (*refs)[0].loop;
  const ir::Loop outer = s.loops[at], inner = s.loops[(*refs)[1].loop];
  if ((*refs)[1].loop != at + 1) {
    return ir::Reject{"loop " + inner.name + " is not directly inside " + outer.name +
                      "; reorder them first"};
  }
  if (outer.mark != ir::Mark::kSerial || inner.mark != ir::Mark::kSerial) {
    return ir::Reject{"a loop that is marked cannot be fused; fuse before marking"};
  }
  if (is_reduction(s, outer.name) != is_reduction(s, inner.name)) {
    return ir::Reject{"one of " + outer.name + " and " + inner.name +
                      " is reduced and the other is not; fuse loops of one kind"};
  }
  const std::string& name = step.name("fused");
  std::string taken = taken_loop(s, name);
  if (!taken.empty()) return ir::Reject{std::move(taken)};
  for (const ir::Loop& loop : {outer, inner}) {
    std::string pinned = pinned_loop(p, s, loop.name);
    if (!pinned.empty()) return ir::Reject{std::move(pinned)};
  }
  s.relations.push_back(
      {ir::Relation::kFuse, outer.name, inner.name, name, "", 0, ir::Tail::kExact});
  s.loops[at].name = name;
  s.loops[at].partition = outer.partition || inner.partition;
  s.loops.erase(s.loops.begin() + static_cast<long>(at) + 1);
  return p;
}

}  // namespace

const StepRow kFuse = {
    "fuse",
    {{Arg::kLoop, "outer"}, {Arg::kLoop, "inner"}, {Arg::kWord, "->"}, {Arg::kNew, "fused"}},
    "Two loops, one directly inside the other, into one over all their pairs.\n"
    "for b: for h: B  =>  fuse b h -> bh  =>  for bh: B",
    apply_fuse,
};

}  // namespace hone::schedules
