// SPDX-License-Identifier: Apache-2.0
#include "schedules/steps/reduction_parts.h"

#include <algorithm>
#include <utility>

#include "schedules/steps/edit.h"

namespace hone::schedules {
namespace {

/// Why `s` is no reduction over `var` that a step may still cut; empty when it is.
std::string objection_cut(const ir::Stage& s, const std::string& var) {
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
  return no_partial_results(s);
}

}  // namespace

Parts parts_of(const ir::Stage& s, const std::string& var, int64_t factor) {
  Parts out{var, var + ".p" + std::to_string(factor), factor, {}};
  const ir::IndexVar* v = s.var(var);
  if (v && factor > 0) {
    out.count = make_binary(ir::Op::kDiv, v->hi + ir::make_int(factor - 1), ir::make_int(factor));
  }
  return out;
}

std::string objection_parts(const ir::Program& p, const ir::Stage& s, const Parts& parts) {
  std::string wrong = objection_cut(s, parts.var);
  if (wrong.empty() && parts.factor < 1) wrong = "a part has one term or more";
  for (const ir::Loop& l : s.loops) {  // the reduced ones go: nothing may stand there
    if (wrong.empty() && is_reduction(s, l.name)) wrong = pinned_loop(p, s, l.name);
  }
  return wrong.empty() ? taken_loop(s, parts.part) : wrong;
}

ir::Stage reducing_parts(const ir::Stage& s, const Parts& parts, const std::string& name) {
  ir::Stage made = s;
  made.name = made.output = name;
  made.from_old = false;
  const ir::Expr base = ir::make_var(parts.part) * ir::make_int(parts.factor);
  for_each_expr(made, [&](ir::Expr& e) {
    e = substitute(e, {{parts.var, base + ir::make_var(parts.var)}});
  });
  for (ir::IndexVar& v : made.rvars) {
    if (v.name != parts.var) continue;
    int64_t extent = 0;
    const bool even = ir::is_const(v.hi, &extent) && extent % parts.factor == 0;
    const ir::Expr size = ir::make_int(parts.factor);
    const ir::Expr left = make_binary(ir::Op::kSub, v.hi, base);
    v.hi = even ? size : make_binary(ir::Op::kMin, size, left);
  }
  made.vars.insert(made.vars.begin(), {parts.part, {}, parts.count});
  made.out_index.insert(made.out_index.begin(), ir::make_var(parts.part));
  made.loops.insert(made.loops.begin(), {parts.part, ir::Mark::kSerial, false});
  return made;
}

ir::Buffer partial_buffer(const ir::Program& p, const ir::Stage& s, const Parts& parts,
                          const std::string& name) {
  ir::Buffer partial;
  partial.name = name;
  partial.type = s.accumulate;
  partial.shape = p.buffer(s.output)->shape;
  partial.shape.insert(partial.shape.begin(), parts.count);
  return partial;
}

void become_combine(ir::Stage& s, const Parts& parts, const ir::Buffer& partial) {
  std::erase_if(s.loops, [&](const ir::Loop& l) { return is_reduction(s, l.name); });
  s.loops.push_back({parts.part, ir::Mark::kSerial, false});
  gather_results(s.loops);
  std::vector<ir::Expr> indices = s.out_index;
  indices.insert(indices.begin(), ir::make_var(parts.part));
  s.where = without(s.where, s.rvars);
  s.rvars = {{parts.part, {}, parts.count}};
  s.value =
      ir::make_cast(s.accumulate, ir::make_load(partial.name, partial.type, std::move(indices)));
  s.prefetches.clear();
}

}  // namespace hone::schedules
