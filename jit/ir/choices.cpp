// SPDX-License-Identifier: Apache-2.0
#include "jit/ir/choices.h"

namespace hone::ir {
namespace {

void append_loads(const Expr& e, std::vector<Expr>& out) {
  if (e->op == Op::kLoad) {
    if (!e->guarded) out.push_back(e);
    return;
  }
  for (size_t i = 0; i < e->args.size(); ++i) {
    if (!is_choice(e, i)) append_loads(e->args[i], out);
  }
}

}  // namespace

bool is_choice(const Expr& e, size_t arg) {
  return arg > 0 && (e->op == Op::kSelect || e->op == Op::kAnd || e->op == Op::kOr);
}

std::vector<Expr> loads_in_any_case(const Expr& e) {
  std::vector<Expr> out;
  append_loads(e, out);
  return out;
}

}  // namespace hone::ir
