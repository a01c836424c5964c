// SPDX-License-Identifier: Apache-2.0
#include "jit/passes/lower/expressions.h"

namespace hone::jit {

using namespace ir;

bool mentions_load(const Expr& e) {
  bool found = false;
  visit(e, [&](const Expr& n) { found |= n->op == Op::kLoad; });
  return found;
}

bool has_var_or_load(const Expr& e) {
  bool found = false;
  visit(e, [&](const Expr& x) { found |= x->op == Op::kVar || x->op == Op::kLoad; });
  return found;
}

}  // namespace hone::jit
