// SPDX-License-Identifier: Apache-2.0
#include "jit/passes/statements.h"

#include <algorithm>

#include "jit/ir/visit.h"

namespace hone::jit {

using namespace ir;

void Uses::add(const Stmt& s) {
  for_each_load(s, [&](const Expr& load) { read.insert(load->id); });
  if (const auto* store = as<StoreStmt>(s)) written.insert(store->buffer);
  if (const auto* copy = as<TmaCopyStmt>(s)) written.insert(copy->buffer);
  for (const StmtRef& b : s.body) add(*b);
}

bool meet(const std::set<int>& a, const std::set<int>& b) {
  return std::any_of(a.begin(), a.end(), [&](int x) { return b.contains(x); });
}

}  // namespace hone::jit
