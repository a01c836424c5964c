// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "schedules/steps/edit.h"
#include "schedules/steps/in_group.h"
#include "schedules/steps/narrow_sum.h"
#include "schedules/steps/rows.h"

namespace hone::schedules {
namespace {

bool is_factored(const ir::Stage& s, const std::string& loop) {
  return std::find(s.factored.begin(), s.factored.end(), loop) != s.factored.end();
}

/// Why `loop` of `s` cannot be factored out; empty when it can.
std::string objection_rfactor(const ir::Stage& s, const std::string& loop) {
  if (s.reduce == ir::Reduce::kNone) return "stage " + s.name + " is not a reduction";
  if (!is_reduction(s, loop) || is_factored(s, loop)) {
    return "loop " + loop + " is not reduced; name a loop that derives from a reduced index";
  }
  bool data = false;
  const ir::Expr extent = extent_of(s, loop);
  ir::visit(extent,
            [&](const ir::Expr& n) { data |= n->op == ir::Op::kLoad || n->op == ir::Op::kVar; });
  if (data) return "the extent of " + loop + " depends on data; split it and factor the inner loop";
  if (reads(s, s.output)) return "stage " + s.name + " reads " + s.output + ", which it writes";
  return no_partial_results(s);
}

/// Turns `s` into the reduction of `partial` over `loop`. Loops factored before are variables of
/// it.
void become_combine_rfactor(ir::Stage& s, const std::string& loop, const ir::Buffer& partial) {
  const ir::Expr extent = partial.shape.back();
  std::vector<ir::Loop> loops;
  for (const ir::Loop& l : s.loops) {
    if (l.name == loop || is_factored(s, l.name) || !is_reduction(s, l.name)) loops.push_back(l);
  }
  gather_results(loops);
  for (const std::string& f : s.factored) {
    s.vars.push_back({f, {}, partial.shape[s.out_index.size()]});
    s.out_index.push_back(ir::make_var(f));
  }
  s.factored.clear();
  std::vector<ir::Expr> indices = s.out_index;
  indices.push_back(ir::make_var(loop));
  std::vector<ir::Relation> kept;
  for (const ir::Relation& r : s.relations) {
    if (!is_reduction(s, r.parent)) kept.push_back(r);
  }
  s.relations = std::move(kept);
  s.loops = std::move(loops);
  s.where = without(s.where, s.rvars);
  s.rvars = {{loop, {}, extent}};
  s.value =
      ir::make_cast(s.accumulate, ir::make_load(partial.name, partial.type, std::move(indices)));
}

Applied apply_rfactor(ir::Program p, const Step& step) {
  auto found = find_stage(p, step.name("stage"));
  if (!found) return found.failure();
  const std::string given = step.name("loop");
  const bool bare = given.find('/') == std::string::npos;
  auto at = find_loop(p, bare ? step.name("stage") + "/" + given : given);
  if (!at) return at.failure();
  ir::Stage& s = p.stages.edit(*found);
  if (at->stage != *found) return ir::Reject{"loop " + given + " is not of stage " + s.name};
  const std::string loop = s.loops[at->loop].name;
  std::string wrong = objection_rfactor(s, loop);
  if (wrong.empty()) wrong = pinned_loop(p, s, loop);
  if (wrong.empty()) wrong = taken_stage(p, step.name("partial"));
  if (!wrong.empty()) return ir::Reject{std::move(wrong)};

  ir::Buffer partial;
  partial.name = step.name("partial");
  partial.type = s.accumulate;
  partial.shape = p.buffer(s.output)->shape;
  partial.shape.push_back(extent_of(s, loop));

  ir::Stage made = s;
  made.name = made.output = partial.name;
  made.factored.push_back(loop);
  made.at = {};
  made.store = {};
  made.from_old = false;
  sum_narrow(p, made, partial);
  move_places(p, s.name, [&](const ir::Place& place) {
    return is_reduction(s, place.loop) ? ir::Place{made.name, place.loop} : place;
  });
  s.prefetches.clear();
  become_combine_rfactor(s, loop, partial);
  p.buffers.push_back(std::move(partial));
  p.stages.insert(*found, std::move(made));
  keep_in_group(p, step.name("partial"), p.stages[*found + 1].name);
  return p;
}

}  // namespace

const StepRow kRfactor = {
    "rfactor",
    {{Arg::kStage, "stage"}, {Arg::kLoop, "loop"}, {Arg::kWord, "->"}, {Arg::kNew, "partial"}},
    "Splits a reduction in two: a new stage reduces all but one loop, the old one reduces that. "
    "Sums of integers for which a narrower type has room are summed in that.\n"
    "s = sum[j](x[j])  =>  split j 16 -> j.o j.i; rfactor s j.i -> s.p  =>  s.p[j.i] = "
    "sum[j.o](x[..]); s = sum[j.i](s.p[j.i])",
    apply_rfactor,
};

}  // namespace hone::schedules
