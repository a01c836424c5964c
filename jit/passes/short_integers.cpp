// SPDX-License-Identifier: Apache-2.0
#include "jit/passes/short_integers.h"

#include <utility>

#include "jit/ir/build.h"
#include "jit/ir/operations.h"
#include "jit/ir/short_value.h"
#include "jit/ir/visit.h"

namespace hone::jit {

using namespace ir;

namespace {

class Shortener {
 public:
  StmtRef walk(const StmtRef& s) {
    const int outer = vector_;
    if (const auto* l = as<ForStmt>(*s); l && l->mark == Mark::kVector) vector_ = l->loop;
    const StmtRef out = rewrite_children(own(s), [&](const StmtRef& b) { return walk(b); });
    vector_ = outer;
    return out;
  }

  bool changed = false;

 private:
  StmtRef own(const StmtRef& s) {
    const auto* store = as<StoreStmt>(*s);
    if (vector_ < 0 || !store) return s;
    if (operations_of(store->value) < 1) return s;
    const Expr value =
        short_value(store->value, [&](const Expr& e) { return mentions_loop(e, vector_); });
    if (!value || value.get() == store->value.get()) return s;
    changed = true;
    StoreStmt now = *store;
    now.value = value;
    return make_stmt(std::move(now));
  }

  int vector_ = -1;  ///< number of the vector loop around; -1: none
};

}  // namespace

std::optional<Nest> with_short_integers(const Nest& nest) {
  Nest out = nest;
  Shortener shortener;
  for (Launch& l : out.launches) l.body = shortener.walk(l.body);
  if (!shortener.changed) return std::nullopt;
  return out;
}

}  // namespace hone::jit
