// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <utility>

#include "jit/ir/build.h"
#include "jit/ir/poly.h"
#include "schedules/steps/edit.h"
#include "schedules/steps/rows.h"

namespace hone::schedules {
namespace {

/// Why the ends of the range of `var` cannot become conditions; empty when they can.
std::string objection_predicate(const ir::Stage& s, const ir::IndexVar* var,
                                const std::string& loop) {
  if (s.reduce == ir::Reduce::kNone) return "stage " + s.name + " is not a reduction";
  if (!var) return "stage " + s.name + " does not reduce " + loop;
  if (!s.relations.empty() || !s.factored.empty() || !s.at.root()) {
    return "stage " + s.name + " is scheduled already; predicate it first";
  }
  if (reads(s, s.output)) return "stage " + s.name + " reads " + s.output + ", which it writes";
  // What data choose is checked over the whole of a range.
  const bool chosen = any_node(s.value, [](const ir::Expr& e) {
    if (e->op != ir::Op::kLoad) return false;
    return std::any_of(e->args.begin(), e->args.end(), ir::mentions_load);
  });
  return chosen ? "terms of " + s.name + " are chosen by data" : "";
}

/// The greatest value of `end` over all results of `s`, or the least; null where no such number
/// can be told.
ir::Expr over_results(const ir::Stage& s, const ir::Expr& end, bool greatest) {
  ir::Poly p = ir::Poly::of(end);
  for (const ir::IndexVar& v : s.vars) {
    const auto coef = p.var_coef(v.name);
    if (!coef || v.lo) return {};
    p -= ir::Poly::atom(ir::make_var(v.name)) * *coef;
    if ((*coef > 0) == greatest) p += (ir::Poly::of(v.hi) - 1) * *coef;
  }
  return p.expr();
}

Applied apply_predicate(ir::Program p, const Step& step) {
  auto at = find_loop(p, step.name("loop"));
  if (!at) return at.failure();
  ir::Stage& s = p.stages.edit(at->stage);
  const std::string loop = s.loops[at->loop].name;
  const auto found = std::find_if(s.rvars.begin(), s.rvars.end(),
                                  [&](const ir::IndexVar& v) { return v.name == loop; });
  ir::IndexVar* var = found == s.rvars.end() ? nullptr : &*found;
  std::string wrong = objection_predicate(s, var, loop);
  if (!wrong.empty()) return ir::Reject{std::move(wrong)};
  const ir::Expr k = ir::make_var(loop);
  bool any = false;
  const auto require = [&](ir::Expr& end, bool upper) {
    if (!end || !mentions_any(end, s.vars)) return true;
    const ir::Expr all = over_results(s, end, upper);
    if (!all) return false;
    ir::Expr holds =
        upper ? ir::make_binary(ir::Op::kLt, k, end) : ir::make_binary(ir::Op::kLe, end, k);
    s.where = s.where ? ir::make_binary(ir::Op::kAnd, s.where, std::move(holds)) : holds;
    end = all;
    any = true;
    return true;
  };
  if (!require(var->lo, false) || !require(var->hi, true)) {
    return ir::Reject{"an end of the range of " + loop + " is not linear in the results' indices"};
  }
  if (!any) return ir::Reject{"the range of " + loop + " is the same for all results"};
  return p;
}

}  // namespace

const StepRow kPredicate = {
    "predicate",
    {{Arg::kLoop, "loop"}},
    "The ends of a reduction's range become conditions on its terms, where they follow indices of "
    "results. The loop then runs over what any result needs, so that tiles of results share it.\n"
    "Y[i,j] = sum[k in 0..i+1](A[i,k]*B[k,j])  =>  predicate Y/k  =>  Y[i,j] = sum[k in "
    "0..N](A[i,k]*B[k,j]) where k <= i",
    apply_predicate,
};

}  // namespace hone::schedules
