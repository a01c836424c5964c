// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "jit/ir/nest.h"

namespace hone::ir {

/// What a loop has besides its range, mark and body.
struct ForOptions {
  const Instruction* instruction = nullptr;  ///< of a loop marked kTensor
  int stages = 1;                            ///< of a pipeline
  bool specialized = false;                  ///< threads of their own fill the pipeline
  int cluster = 1;                           ///< blocks that run together
  int into = -1;                             ///< buffer that a reduction over threads writes
};

/// The statement as a shared, immutable value.
StmtRef make_stmt(Stmt s);

/// The statements one after the other.
StmtRef make_sequence(std::vector<StmtRef> body);
/// The statement itself where there is one, else a sequence.
StmtRef make_block(std::vector<StmtRef> body);
/// Loop number `loop` over `begin` to `end` (exclusive).
StmtRef make_for(int loop, Mark mark, Expr begin, Expr end, std::vector<StmtRef> body,
                 const ForOptions& options = {});
/// `otherwise` may be null.
StmtRef make_if(Expr condition, StmtRef then, StmtRef otherwise = nullptr);
/// buffer[offset] = value, or combined with what is there by `reduce`.
StmtRef make_store(int buffer, Expr offset, Expr value, Reduce reduce = Reduce::kNone);
StmtRef make_prefetch(int buffer, Expr offset);
/// Unless `condition` holds, the status becomes at most `position`.
StmtRef make_check(Expr condition, Expr position);

StmtRef make_team(std::vector<StmtRef> body);
StmtRef make_barrier();
StmtRef make_copy_commit();
StmtRef make_copy_wait(int pending);
/// `buffer` -1: the products that follow add to results of earlier ones.
StmtRef make_wgmma_fence(int buffer = -1);
StmtRef make_wgmma_commit();
/// Until at most `pending` groups are under way; of 0, the buffer is readable.
StmtRef make_wgmma_wait(int buffer, int pending = 0);
/// Box of tensor map `map` from coordinates `at` to `buffer` at `offset`; `elements` is its
/// meaning.
StmtRef make_tma_copy(int map, std::vector<Expr> at, int buffer, Expr offset, StmtRef elements);
StmtRef make_fill(int pipe, Expr position, std::vector<StmtRef> copies);
StmtRef make_ready(int pipe, Expr position);
StmtRef make_release(int pipe, Expr position);

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
  if (body.empty()) return s;
  Stmt out = *s;
  out.body = std::move(body);
  return make_stmt(std::move(out));
}

}  // namespace hone::ir
