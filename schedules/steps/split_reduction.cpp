// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "schedules/steps/edit.h"
#include "schedules/steps/rows.h"

namespace hone::schedules {
namespace {

/// Why the reduction of `s` over `var` cannot be split; empty when it can.
std::string objection_split_reduction(const ir::Stage& s, const std::string& var) {
  const ir::IndexVar* v = s.var(var);
  if (s.reduce == ir::Reduce::kNone) return "stage " + s.name + " is not a reduction";
  if (!v || !s.is_reduction_var(var)) {
    return "loop " + var + " is no reduced index; name one before it is split or fused";
  }
  if (!s.relations.empty() || !s.factored.empty() || !s.at.root()) {
    return "stage " + s.name + " is scheduled already; split its reduction first";
  }
  bool data = v->lo && !ir::is_const(v->lo);
  ir::visit(v->hi,
            [&](const ir::Expr& e) { data |= e->op == ir::Op::kLoad || e->op == ir::Op::kVar; });
  if (data || v->lo) return "the range of " + var + " does not start at 0, or depends on data";
  if (reads(s, s.output)) return "stage " + s.name + " reads " + s.output + ", which it writes";
  return {};
}

/// The stage that reduces each part. `part` is the first index of its output.
ir::Stage reducing_parts(const ir::Stage& s, const std::string& var, const std::string& part,
                         int64_t factor, const ir::Expr& count, const std::string& name) {
  ir::Stage made = s;
  made.name = made.output = name;
  const ir::Expr base = ir::make_var(part) * ir::make_int(factor);
  for_each_expr(made, [&](ir::Expr& e) { e = substitute(e, {{var, base + ir::make_var(var)}}); });
  for (ir::IndexVar& v : made.rvars) {
    if (v.name != var) continue;
    int64_t extent = 0;
    const bool even = ir::is_const(v.hi, &extent) && extent % factor == 0;
    const ir::Expr left = make_binary(ir::Op::kSub, v.hi, base);
    v.hi = even ? ir::make_int(factor) : make_binary(ir::Op::kMin, ir::make_int(factor), left);
  }
  made.vars.insert(made.vars.begin(), {part, {}, count});
  made.out_index.insert(made.out_index.begin(), ir::make_var(part));
  made.loops.insert(made.loops.begin(), {part, ir::Mark::kSerial, false});
  return made;
}

/// Turns `s` into the reduction of the parts' results.
void become_combine(ir::Stage& s, const std::string& part, const ir::Expr& count,
                    const ir::Buffer& partial) {
  std::erase_if(s.loops, [&](const ir::Loop& l) { return is_reduction(s, l.name); });
  s.loops.push_back({part, ir::Mark::kSerial, false});
  std::vector<ir::Expr> indices = s.out_index;
  indices.insert(indices.begin(), ir::make_var(part));
  s.where = without(s.where, s.rvars);
  s.rvars = {{part, {}, count}};
  s.value = ir::make_load(partial.name, partial.type, std::move(indices));
  s.prefetches.clear();
}

Applied apply_split_reduction(ir::Program p, const Step& step) {
  auto at = find_loop(p, step.name("loop"));
  if (!at) return at.failure();
  ir::Stage& s = p.stages.edit(at->stage);
  const std::string var = s.loops[at->loop].name;
  const int64_t factor = step.number("factor");
  const std::string name = step.name("partial"), part = var + ".p" + std::to_string(factor);
  std::string wrong = objection_split_reduction(s, var);
  if (wrong.empty() && factor < 1) wrong = "a part has one term or more";
  for (const ir::Loop& l : s.loops) {  // the reduced ones go: nothing may stand there
    if (wrong.empty() && is_reduction(s, l.name)) wrong = pinned_loop(p, s, l.name);
  }
  if (wrong.empty()) wrong = taken_loop(s, part);
  if (wrong.empty()) wrong = taken_stage(p, name);
  if (!wrong.empty()) return ir::Reject{std::move(wrong)};

  const ir::Expr count =
      make_binary(ir::Op::kDiv, s.var(var)->hi + ir::make_int(factor - 1), ir::make_int(factor));
  ir::Buffer partial;
  partial.name = name;
  partial.type = s.accumulate;
  partial.shape = p.buffer(s.output)->shape;
  partial.shape.insert(partial.shape.begin(), count);
  ir::Stage made = reducing_parts(s, var, part, factor, count, name);
  become_combine(s, part, count, partial);
  p.buffers.push_back(std::move(partial));
  p.stages.insert(at->stage, std::move(made));
  return p;
}

}  // namespace

const StepRow kSplitReduction = {
    "split_reduction",
    {{Arg::kLoop, "loop"}, {Arg::kNumber, "factor"}, {Arg::kWord, "->"}, {Arg::kNew, "partial"}},
    "Splits a reduction in two (split-K): a new stage reduces parts of FACTOR terms, the old one "
    "reduces their results. Both are stages like any other.\n"
    "s = sum[k](x[k])  =>  split_reduction k 64 -> q  =>  q[p] = sum[k](x[64*p + k]); s = "
    "sum[p](q[p])",
    apply_split_reduction,
    "parts",
};

}  // namespace hone::schedules
