// SPDX-License-Identifier: Apache-2.0
#include "jit/ir/scatter.h"
#include "schedules/steps/edit.h"
#include "schedules/steps/rows.h"

namespace hone::schedules {
namespace {

Applied apply_prefetch(ir::Program p, const Step& step) {
  auto tensor = find_buffer(p, step.name("tensor"));
  if (!tensor) return tensor.failure();
  auto at = find_loop(p, step.name("loop"));
  if (!at) return at.failure();
  ir::Stage& s = p.stages.edit(at->stage);
  const std::string& loop = s.loops[at->loop].name;
  // What a term is added to is read, too.
  const bool adds =
      s.output == step.name("tensor") && s.factored.empty() && !ir::scattered_vars(s).empty();
  if (!adds && !reads(s, step.name("tensor"))) {
    return ir::Reject{"stage " + s.name + " does not read " + step.name("tensor") +
                      "; name a loop of a stage that does"};
  }
  ir::Place outer;
  if (step.at("of").present) {
    auto around = find_loop(p, step.name("of"));
    if (!around) return around.failure();
    const ir::Stage& owner = p.stages[around->stage];
    outer = {owner.name, owner.loops[around->loop].name};
    if (outer == ir::Place{s.name, loop}) {
      return ir::Reject{"`of` names a loop around " + s.name + "/" + loop + ", not that one"};
    }
  }
  const int64_t distance = step.number("distance");
  if (distance == 0) return p;
  s.prefetches.push_back({step.name("tensor"), loop, distance, outer});
  return p;
}

}  // namespace

const StepRow kPrefetch = {
    "prefetch",
    {{Arg::kTensor, "tensor"},
     {Arg::kWord, "at"},
     {Arg::kLoop, "loop"},
     {Arg::kClause, "of"},
     {Arg::kSetting, "distance"}},
    "Asks for the lines of a tensor that a loop reads some iterations ahead, gathers too; none for "
    "a distance of 0. With `of`, for those that iterations of a loop around it read: a share at "
    "each "
    "iteration of the first loop, and nothing where they do not lie together.\n"
    "for j: y += E[ids[j],d]  =>  prefetch E at j distance=8  =>  for j: fetch E[ids[j+8]]; y += "
    "..",
    apply_prefetch,
};

}  // namespace hone::schedules
