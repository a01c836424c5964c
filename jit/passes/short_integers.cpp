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
    if (vector_ < 0) return s;
    if (const auto* store = as<StoreStmt>(*s)) return with(*store, &StoreStmt::value, s);
    if (const auto* check = as<CheckStmt>(*s)) return with(*check, &CheckStmt::condition, s);
    return s;
  }

  /// The statement with one of its expressions shortened; `same` where that changes nothing.
  template <class S>
  StmtRef with(const S& s, Expr S::*member, const StmtRef& same) {
    const Expr& value = s.*member;
    if (operations_of(value) < 1) return same;
    const Expr shorter =
        short_value(value, [&](const Expr& e) { return mentions_loop(e, vector_); });
    if (!shorter || shorter.get() == value.get()) return same;
    changed = true;
    S now = s;
    now.*member = shorter;
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
