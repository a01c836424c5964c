// SPDX-License-Identifier: Apache-2.0
#include "jit/passes/statements.h"

#include <algorithm>

namespace hone::jit {

using namespace ir;

void Uses::add(const Stmt& s) {
  for (const Expr* e : {&s.begin, &s.end, &s.condition, &s.offset, &s.value}) {
    visit(*e, [&](const Expr& x) {
      if (x->op == Op::kLoad) read.insert(x->id);
    });
  }
  if (s.kind == Stmt::kStore || s.kind == Stmt::kTmaCopy) written.insert(s.id);
  for (const StmtRef& b : s.body) add(*b);
}

bool meet(const std::set<int>& a, const std::set<int>& b) {
  return std::any_of(a.begin(), a.end(), [&](int x) { return b.contains(x); });
}

}  // namespace hone::jit
