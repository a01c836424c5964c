// SPDX-License-Identifier: Apache-2.0
#include "schedules/steps/edit.h"
#include "schedules/steps/narrow_sum.h"
#include "schedules/steps/reduction_parts.h"
#include "schedules/steps/rows.h"

namespace hone::schedules {
namespace {

Applied apply_split_reduction(ir::Program p, const Step& step) {
  auto at = find_loop(p, step.name("loop"));
  if (!at) return at.failure();
  ir::Stage& s = p.stages.edit(at->stage);
  const std::string name = step.name("partial");
  const Parts parts = parts_of(s, s.loops[at->loop].name, step.number("factor"));
  std::string wrong = objection_parts(p, s, parts);
  if (wrong.empty()) wrong = taken_stage(p, name);
  if (!wrong.empty()) return ir::Reject{std::move(wrong)};

  ir::Buffer partial = partial_buffer(p, s, parts, name);
  ir::Stage made = reducing_parts(s, parts, name);
  sum_narrow(p, made, partial);
  become_combine(s, parts, partial);
  p.buffers.push_back(std::move(partial));
  p.stages.insert(at->stage, std::move(made));
  return p;
}

}  // namespace

const StepRow kSplitReduction = {
    "split_reduction",
    {{Arg::kLoop, "loop"}, {Arg::kNumber, "factor"}, {Arg::kWord, "->"}, {Arg::kNew, "partial"}},
    "Splits a reduction in two (split-K): a new stage reduces parts of FACTOR terms, the old one "
    "reduces their results. Both are stages like any other. Integers for whose sums a narrower "
    "type "
    "has room are summed in that first.\n"
    "s = sum[k](x[k])  =>  split_reduction k 64 -> q  =>  q[p] = sum[k](x[64*p + k]); s = "
    "sum[p](q[p])",
    apply_split_reduction,
    "parts",
};

}  // namespace hone::schedules
