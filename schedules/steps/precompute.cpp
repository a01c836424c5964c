// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "schedules/steps/in_group.h"
#include "schedules/steps/parts.h"
#include "schedules/steps/rows.h"
#include "schedules/steps/stage_copy.h"

namespace hone::schedules {
namespace {

/// The conjuncts of `where` that mention no other variables than these; null where there is none.
ir::Expr mentioning_only(const ir::Expr& where, const std::vector<ir::IndexVar>& vars) {
  if (!where) return {};
  if (where->op == ir::Op::kAnd) {
    const ir::Expr a = mentioning_only(where->args[0], vars);
    const ir::Expr b = mentioning_only(where->args[1], vars);
    return a && b ? make_binary(ir::Op::kAnd, a, b) : a ? a : b;
  }
  const bool other = ir::any_node(where, [&](const ir::Expr& e) {
    return e->op == ir::Op::kVar &&
           std::none_of(vars.begin(), vars.end(),
                        [&](const ir::IndexVar& v) { return v.name == e->name; });
  });
  return other ? ir::Expr() : where;
}

/// The stage that computes `value` over the variables that it mentions. What a stage that goes on
/// from itself reads besides has no order.
ir::Stage computing(const ir::Stage& s, const ir::Expr& value, const std::string& name) {
  ir::Stage made;
  made.name = made.output = name;
  made.accumulate = value->type;
  made.value = value;
  for (const ir::IndexVar& v : variables_in(s, value)) {
    made.vars.push_back(v);
    made.vars.back().backward = v.backward && !reads(s, s.output);
    made.loops.push_back({v.name, ir::Mark::kSerial, false});
    made.out_index.push_back(ir::make_var(v.name));
  }
  made.where = mentioning_only(s.where, made.vars);
  return made;
}

Applied apply_precompute(ir::Program p, const Step& step) {
  auto found = find_stage(p, step.name("stage"));
  if (!found) return found.failure();
  const std::string name = step.name("made");
  const ir::Stage s = p.stages[*found];
  const std::vector<Part> parts = parts_of(s);
  const int64_t place = step.number("part") - 1;
  std::string wrong = unpartable(s, parts, place);
  if (wrong.empty()) wrong = taken_stage(p, name);
  if (!wrong.empty()) return ir::Reject{std::move(wrong)};
  const ir::Expr value = parts[static_cast<size_t>(place)].value;
  ir::Stage made = computing(s, value, name);
  ir::Buffer b;
  b.name = name;
  b.type = value->type;
  std::vector<std::string> dims;
  for (const ir::IndexVar& v : made.vars) {
    b.shape.push_back(v.hi);
    dims.push_back(v.name);
  }
  auto axes = layout_axes(step, name, dims);
  if (!axes) return axes.failure();
  b.axes = *std::move(axes);
  const ir::Expr load = ir::make_load(name, b.type, made.out_index);
  ir::Stage& reader = p.stages.edit(*found);
  reader.value = ir::rewrite(
      reader.value, [&](const ir::Expr& e) { return equal(e, value) ? load : ir::Expr(); });
  std::erase_if(reader.prefetches, [&](const ir::Prefetch& f) { return !reads(reader, f.tensor); });
  p.buffers.push_back(std::move(b));
  p.stages.insert(*found, std::move(made));
  keep_in_group(p, name, p.stages[*found + 1].name);
  return p;
}

}  // namespace

const StepRow kPrecompute = {
    "precompute",
    {{Arg::kStage, "stage"},
     {Arg::kNumber, "part"},
     {Arg::kWord, "->"},
     {Arg::kNew, "made"},
     {Arg::kLayout, "layout"}},
    "Makes a stage of a part of a stage's value, over the variables that the part mentions. Part 1 "
    "is the value; operands follow in the order of the text, each before its own.\n"
    "y[i,j] = exp(a[j,i])*b[i,j]  =>  precompute y 2 -> x  =>  x[i,j] = exp(a[j,i]); y[i,j] = "
    "x[i,j]*b[i,j]",
    apply_precompute,
};

}  // namespace hone::schedules
