// SPDX-License-Identifier: Apache-2.0
#include "schedules/steps/online_values.h"

#include "jit/ir/facts.h"
#include "jit/ir/functions/function.h"
#include "jit/ir/poly.h"
#include "schedules/steps/edit.h"

namespace hone::schedules {

using ir::Expr;
using ir::Op;

Expr both(const Expr& a, const Expr& b) { return a && b ? make_binary(Op::kAnd, a, b) : a ? a : b; }

Expr index_of(const Expr& by, int64_t div, int64_t mod) {
  return make_binary(Op::kMod, make_binary(Op::kDiv, by, ir::make_int(div)), ir::make_int(mod));
}

Expr only_where(const Expr& condition, const Expr& value, double otherwise) {
  if (!condition) return value;
  if (value->op == Op::kCast) {
    return make_cast(value->type, only_where(condition, value->args[0], otherwise));
  }
  const bool exponential = value->op == Op::kCall && (value->fn == ir::function_named("exp") ||
                                                      value->fn == ir::function_named("exp2"));
  if (exponential && otherwise == 0) {  // no branch: of -inf it is 0
    const Expr least = ir::identity(ir::Reduce::kMax, value->type);
    return make_call(value->fn, {only_where(condition, value->args[0], least->f)});
  }
  return make_select(condition, value, ir::make_float(otherwise, value->type));
}

Expr by_powers_of_two(const Expr& e) {
  return ir::rewrite(e, [](const Expr& n) -> Expr {
    if (n->op != Op::kCall || n->fn != ir::function_named("exp") || n->type != DType::kF32) {
      return {};
    }
    const Expr& x = n->args[0];
    if (x->op != Op::kSub && x->op != Op::kMul) return {};
    constexpr double kLog2OfE = 1.4426950408889634;  // Fixed by: the base.
    return make_call(ir::function_named("exp2"), {x * ir::make_float(kLog2OfE, n->type)});
  });
}

bool bounds_above(const Expr& where, const std::string& var) {
  if (where->op == Op::kAnd) {
    return bounds_above(where->args[0], var) && bounds_above(where->args[1], var);
  }
  if (!ir::mentions_var(where, var)) return true;
  if (where->op != Op::kLe && where->op != Op::kLt) return false;
  if (is_float(where->args[0]->type)) return false;
  const ir::Poly sum =
      ir::Poly::of(where->args[1]) - ir::Poly::of(where->args[0]) + ir::Poly::of(ir::make_var(var));
  return !ir::mentions_var(sum.expr(), var);
}

bool has_terms(const ir::Program& p, const ir::IndexVar& v) {
  ir::Facts facts;
  for (const ir::Dim& dim : p.dims) facts.define_dim(dim.name, dim.lo, dim.hi);
  return facts.nonnegative(ir::Poly::of(v.hi) - ir::Poly(1));
}

}  // namespace hone::schedules
