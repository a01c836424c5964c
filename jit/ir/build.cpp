// SPDX-License-Identifier: Apache-2.0
#include "jit/ir/build.h"

namespace hone::ir {
namespace {

Stmt of_kind(Stmt::Kind kind, std::vector<StmtRef> body = {}) {
  Stmt s;
  s.kind = kind;
  s.body = std::move(body);
  return s;
}

StmtRef at_pipe(Stmt::Kind kind, int pipe, Expr position, std::vector<StmtRef> body = {}) {
  Stmt s = of_kind(kind, std::move(body));
  s.id = pipe;
  s.position = std::move(position);
  return make_stmt(std::move(s));
}

}  // namespace

StmtRef make_stmt(Stmt s) { return std::make_shared<const Stmt>(std::move(s)); }

StmtRef make_sequence(std::vector<StmtRef> body) {
  return make_stmt(of_kind(Stmt::kSequence, std::move(body)));
}

StmtRef make_block(std::vector<StmtRef> body) {
  return body.size() == 1 ? std::move(body[0]) : make_sequence(std::move(body));
}

StmtRef make_for(int loop, Mark mark, Expr begin, Expr end, std::vector<StmtRef> body,
                 const ForOptions& options) {
  Stmt s = of_kind(Stmt::kFor, std::move(body));
  s.id = loop;
  s.mark = mark;
  s.begin = std::move(begin);
  s.end = std::move(end);
  s.instruction = options.instruction;
  s.stages = options.stages;
  s.specialized = options.specialized;
  s.cluster = options.cluster;
  s.into = options.into;
  return make_stmt(std::move(s));
}

StmtRef make_if(Expr condition, StmtRef then, StmtRef otherwise) {
  Stmt s = of_kind(Stmt::kIf);
  s.condition = std::move(condition);
  s.body.push_back(std::move(then));
  if (otherwise) s.body.push_back(std::move(otherwise));
  return make_stmt(std::move(s));
}

StmtRef make_store(int buffer, Expr offset, Expr value, Reduce reduce) {
  Stmt s = of_kind(Stmt::kStore);
  s.id = buffer;
  s.offset = std::move(offset);
  s.value = std::move(value);
  s.reduce = reduce;
  return make_stmt(std::move(s));
}

StmtRef make_prefetch(int buffer, Expr offset) {
  Stmt s = of_kind(Stmt::kPrefetch);
  s.id = buffer;
  s.offset = std::move(offset);
  return make_stmt(std::move(s));
}

StmtRef make_check(Expr condition, Expr position) {
  Stmt s = of_kind(Stmt::kCheck);
  s.condition = std::move(condition);
  s.value = std::move(position);
  return make_stmt(std::move(s));
}

StmtRef make_team(std::vector<StmtRef> body) {
  return make_stmt(of_kind(Stmt::kTeam, std::move(body)));
}

StmtRef make_barrier() { return make_stmt(of_kind(Stmt::kBarrier)); }

StmtRef make_copy_commit() { return make_stmt(of_kind(Stmt::kCopyCommit)); }

StmtRef make_copy_wait(int pending) {
  Stmt s = of_kind(Stmt::kCopyWait);
  s.pending = pending;
  return make_stmt(std::move(s));
}

StmtRef make_wgmma_fence(int buffer) {
  Stmt s = of_kind(Stmt::kWgmmaFence);
  s.id = buffer;
  return make_stmt(std::move(s));
}

StmtRef make_wgmma_commit() { return make_stmt(of_kind(Stmt::kWgmmaCommit)); }

StmtRef make_wgmma_wait(int buffer, int pending) {
  Stmt s = of_kind(Stmt::kWgmmaWait);
  s.id = buffer;
  s.pending = pending;
  return make_stmt(std::move(s));
}

StmtRef make_tma_copy(int map, std::vector<Expr> at, int buffer, Expr offset, StmtRef elements) {
  Stmt s = of_kind(Stmt::kTmaCopy);
  s.map = map;
  s.at = std::move(at);
  s.id = buffer;
  s.offset = std::move(offset);
  s.body.push_back(std::move(elements));
  return make_stmt(std::move(s));
}

StmtRef make_fill(int pipe, Expr position, std::vector<StmtRef> copies) {
  return at_pipe(Stmt::kFill, pipe, std::move(position), std::move(copies));
}

StmtRef make_ready(int pipe, Expr position) {
  return at_pipe(Stmt::kReady, pipe, std::move(position));
}

StmtRef make_release(int pipe, Expr position) {
  return at_pipe(Stmt::kRelease, pipe, std::move(position));
}

}  // namespace hone::ir
