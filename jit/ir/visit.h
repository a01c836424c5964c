// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <type_traits>

#include "jit/ir/gpu.h"
#include "jit/ir/stmt.h"

namespace hone::ir {

/// Functions as one: `visit(s, Overloaded{[](const ForStmt&) {...}, [](const Stmt&) {...}})`.
template <class... F>
struct Overloaded : F... {
  using F::operator()...;
};
template <class... F>
Overloaded(F...) -> Overloaded<F...>;

/// Calls `f` with the statement as the struct of its kind. A kind for which `f` has no overload
/// does not compile; `const GpuStmt&` takes all kinds of a GPU.
template <class F>
decltype(auto) visit(const Stmt& s, F&& f) {
  switch (s.kind) {
    case StmtKind::kSequence:
      return f(to<SequenceStmt>(s));
    case StmtKind::kFor:
      return f(to<ForStmt>(s));
    case StmtKind::kIf:
      return f(to<IfStmt>(s));
    case StmtKind::kStore:
      return f(to<StoreStmt>(s));
    case StmtKind::kPrefetch:
      return f(to<PrefetchStmt>(s));
    case StmtKind::kCheck:
      return f(to<CheckStmt>(s));
    case StmtKind::kTeam:
      return f(to<TeamStmt>(s));
    case StmtKind::kBarrier:
      return f(to<BarrierStmt>(s));
    case StmtKind::kCopyCommit:
      return f(to<CopyCommitStmt>(s));
    case StmtKind::kCopyWait:
      return f(to<CopyWaitStmt>(s));
    case StmtKind::kWgmmaFence:
      return f(to<WgmmaFenceStmt>(s));
    case StmtKind::kWgmmaCommit:
      return f(to<WgmmaCommitStmt>(s));
    case StmtKind::kWgmmaWait:
      return f(to<WgmmaWaitStmt>(s));
    case StmtKind::kTmaCopy:
      return f(to<TmaCopyStmt>(s));
    case StmtKind::kFill:
      return f(to<FillStmt>(s));
    case StmtKind::kReady:
      return f(to<ReadyStmt>(s));
    case StmtKind::kRelease:
      break;
  }
  return f(to<ReleaseStmt>(s));
}

/// Calls `f` with each expression of a statement of known kind, to read or to replace it.
template <class T, class F>
void each_expr(T& s, const F& f) {
  const auto call = [&](auto& member) {
    if constexpr (requires { member.begin(); }) {
      for (auto& e : member) f(e);
    } else {
      f(member);
    }
  };
  std::apply([&](auto... members) { (call(s.*members), ...); }, std::remove_const_t<T>::kExprs);
}

/// Calls `f` with each expression of the statement itself, not of those inside it.
template <class F>
void for_each_expr(const Stmt& s, const F& f) {
  visit(s, [&](const auto& own) { each_expr(own, f); });
}

/// Calls `f` with each node of the statement's own expressions that is a load.
template <class F>
void for_each_load(const Stmt& s, const F& f) {
  for_each_expr(s, [&](const Expr& e) {
    visit(e, [&](const Expr& x) {
      if (x->op == Op::kLoad) f(x);
    });
  });
}

/// The statement with another body.
StmtRef with_body(const Stmt& s, std::vector<StmtRef> body);

/// Whether `f` holds for `s` or a statement inside it.
template <class F>
bool any_of(const Stmt& s, const F& f) {
  if (f(s)) return true;
  for (const StmtRef& b : s.body) {
    if (any_of(*b, f)) return true;
  }
  return false;
}

/// Calls `f` on `s`, then on all statements inside it.
template <class F>
void for_each(const Stmt& s, const F& f) {
  f(s);
  for (const StmtRef& b : s.body) for_each(*b, f);
}

/// The statement with each child replaced by f(child); `s` itself where no child changed.
template <class F>
StmtRef rewrite_children(const StmtRef& s, const F& f) {
  std::vector<StmtRef> body;
  for (size_t i = 0; i < s->body.size(); ++i) {
    StmtRef now = f(s->body[i]);
    if (body.empty() && now == s->body[i]) continue;
    if (body.empty()) body = s->body;
    body[i] = std::move(now);
  }
  return body.empty() ? s : with_body(*s, std::move(body));
}

}  // namespace hone::ir
