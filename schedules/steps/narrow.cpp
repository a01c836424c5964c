// SPDX-License-Identifier: Apache-2.0
#include <utility>

#include "schedules/steps/edit.h"
#include "schedules/steps/narrow_sum.h"
#include "schedules/steps/rows.h"

namespace hone::schedules {
namespace {

std::string objection_narrow(const ir::Program& p, const ir::Stage& s) {
  if (s.reduce != ir::Reduce::kSum || !is_int(s.accumulate)) {
    return "stage " + s.name + " does not sum integers";
  }
  if (!s.relations.empty() || !s.factored.empty() || !s.at.root()) {
    return "stage " + s.name + " is scheduled already; narrow it first";
  }
  if (reads(s, s.output)) return "stage " + s.name + " reads " + s.output + ", which it writes";
  if (s.from_old) return "stage " + s.name + " goes on from what " + s.output + " holds";
  if (!narrow_sum(p, s)) {
    return "no narrower type surely holds the sums of stage " + s.name +
           ", nor what its readers go by";
  }
  std::string wrong = no_partial_results(s);
  for (const ir::IndexVar& v : s.rvars) {
    if (wrong.empty()) wrong = pinned_loop(p, s, v.name);
  }
  return wrong;
}

/// Turns `s` into what widens the sums in `sums`.
void become_widening(ir::Stage& s, const ir::Buffer& sums) {
  std::erase_if(s.loops, [&](const ir::Loop& l) { return is_reduction(s, l.name); });
  s.where = without(s.where, s.rvars);
  s.rvars.clear();
  s.reduce = ir::Reduce::kNone;
  s.prefetches.clear();
  s.value = ir::make_cast(s.accumulate, ir::make_load(sums.name, sums.type, s.out_index));
}

Applied apply_narrow(ir::Program p, const Step& step) {
  auto found = find_stage(p, step.name("stage"));
  if (!found) return found.failure();
  ir::Stage& s = p.stages.edit(*found);
  std::string wrong = objection_narrow(p, s);
  if (wrong.empty()) wrong = taken_stage(p, step.name("partial"));
  if (!wrong.empty()) return ir::Reject{std::move(wrong)};
  ir::Buffer sums;
  sums.name = step.name("partial");
  sums.shape = p.buffer(s.output)->shape;
  ir::Stage made = s;
  sum_narrow(p, made, sums);
  made.name = made.output = sums.name;
  become_widening(s, sums);
  p.buffers.push_back(std::move(sums));
  p.stages.insert(*found, std::move(made));
  return p;
}

}  // namespace

const StepRow kNarrow = {
    "narrow",
    {{Arg::kStage, "stage"}, {Arg::kWord, "->"}, {Arg::kNew, "partial"}},
    "For a sum of integers so small that a narrower type holds the whole, or whose readers take no "
    "more bytes: a new stage sums in the narrowest such type, the old one widens its results.\n"
    "Y[i] = sum[j in 0..9: i32](i32(X[i,j]))  =>  narrow Y -> s  =>  s[i] = sum[j: "
    "i16](i16(X[i,j])); Y[i] = i32(s[i])",
    apply_narrow,
};

}  // namespace hone::schedules
