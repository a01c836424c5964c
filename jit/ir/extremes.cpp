// SPDX-License-Identifier: Apache-2.0
#include "jit/ir/extremes.h"

#include <memory>
#include <utility>

#include "jit/ir/functions/function.h"
#include "jit/ir/integers.h"

namespace hone::ir {

Expr as_extreme(const Expr& e) {
  if (e->type != DType::kI64) return {};
  if (e->op == Op::kMin || e->op == Op::kMax) return e;
  if (!is_abs(e)) return {};
  Node n;  // of a constant too: nothing is folded
  n.op = Op::kMax;
  n.args = {e->args[0], make_unary(Op::kNeg, e->args[0])};
  return make_node(std::move(n));
}

}  // namespace hone::ir
