// SPDX-License-Identifier: Apache-2.0
#include "jit/ir/so_far.h"

#include <algorithm>
#include <string>

#include "jit/ir/scatter.h"

namespace hone::ir {
namespace {

Expr at_term(const Expr& e, const std::string& var, const Expr& term) {
  return rewrite(e, [&](const Expr& n) -> Expr {
    return n->op == Op::kVar && n->name == var ? term : Expr();
  });
}

/// A scatter to single elements by one index of terms, from the first to the last.
bool goes_in_order(const Stage& s) {
  if (s.rvars.size() != 1 || s.rvars[0].lo || s.from_old || s.reduce == Reduce::kLast) return false;
  const Loop* terms = s.loop(s.rvars[0].name);
  const bool scattered = std::all_of(s.vars.begin(), s.vars.end(), [&](const IndexVar& v) {
    return runs_scattered(s, v.name) && scattered_to(s, v.name);
  });
  return scattered && !where_of_terms(s) && terms && s.factored.empty() &&
         (terms->mark == Mark::kSerial || terms->mark == Mark::kUnroll);
}

}  // namespace

Expr same_element(const Stage& scatter, const Expr& earlier, const Expr& now) {
  Expr all;
  for (const ScatteredVar& v : scattered_vars(scatter)) {
    const std::string& term = scatter.rvars[0].name;
    const Expr same = make_binary(Op::kEq, at_term(v.at, term, earlier), at_term(v.at, term, now));
    all = all ? make_binary(Op::kAnd, all, same) : same;
  }
  return all;
}

bool is_so_far(const Program& program, const Stage& stage, const Stage& scatter) {
  if (!goes_in_order(scatter) || stage.at.stage != scatter.name) return false;
  const IndexVar& terms = scatter.rvars[0];
  if (stage.at.loop != terms.name || stage.vars.size() != 1 || stage.rvars.size() != 1) {
    return false;
  }
  const IndexVar &now = stage.vars[0], &earlier = stage.rvars[0];
  const bool before = !now.lo && equal(now.hi, terms.hi) && !earlier.lo &&
                      earlier.hi->op == Op::kVar && earlier.hi->name == now.name;
  const bool alike = stage.reduce == scatter.reduce && stage.accumulate == scatter.accumulate &&
                     program.buffer(scatter.output)->type == scatter.accumulate &&
                     program.buffer(stage.output)->type == stage.accumulate;
  const Expr at = make_var(earlier.name);
  return before && alike && !stage.from_old && stage.where &&
         equal(stage.where, same_element(scatter, at, make_var(now.name))) &&
         equal(stage.value, at_term(scatter.value, terms.name, at));
}

}  // namespace hone::ir
