// SPDX-License-Identifier: Apache-2.0
#include "jit/ir/gpu.h"

namespace hone::ir {
namespace {

template <class T>
StmtRef at_pipe(int pipe, Expr position, std::vector<StmtRef> body = {}) {
  T s;
  s.pipe = pipe;
  s.position = std::move(position);
  s.body = std::move(body);
  return make_stmt(std::move(s));
}

}  // namespace

std::string text_of(const GpuLoop& loop) {
  std::string out;
  if (loop.depth > 1) out += "(" + std::to_string(loop.depth) + " stages)";
  if (loop.specialized) out += "(specialized)";
  if (loop.cluster > 1) out += "(clusters of " + std::to_string(loop.cluster) + ")";
  return out;
}

StmtRef make_team(std::vector<StmtRef> body) {
  TeamStmt s;
  s.body = std::move(body);
  return make_stmt(std::move(s));
}

StmtRef make_barrier() { return make_stmt(BarrierStmt()); }

StmtRef make_copy_commit() { return make_stmt(CopyCommitStmt()); }

StmtRef make_copy_wait(int pending) {
  CopyWaitStmt s;
  s.pending = pending;
  return make_stmt(std::move(s));
}

StmtRef make_wgmma_fence(int buffer) {
  WgmmaFenceStmt s;
  s.buffer = buffer;
  return make_stmt(std::move(s));
}

StmtRef make_wgmma_commit() { return make_stmt(WgmmaCommitStmt()); }

StmtRef make_wgmma_wait(int buffer, int pending) {
  WgmmaWaitStmt s;
  s.buffer = buffer;
  s.pending = pending;
  return make_stmt(std::move(s));
}

StmtRef make_tma_copy(int map, std::vector<Expr> at, int buffer, Expr offset, StmtRef elements) {
  TmaCopyStmt s;
  s.map = map;
  s.at = std::move(at);
  s.buffer = buffer;
  s.offset = std::move(offset);
  s.body.push_back(std::move(elements));
  return make_stmt(std::move(s));
}

StmtRef make_fill(int pipe, Expr position, std::vector<StmtRef> copies) {
  return at_pipe<FillStmt>(pipe, std::move(position), std::move(copies));
}

StmtRef make_ready(int pipe, Expr position) {
  return at_pipe<ReadyStmt>(pipe, std::move(position));
}

StmtRef make_release(int pipe, Expr position) {
  return at_pipe<ReleaseStmt>(pipe, std::move(position));
}

}  // namespace hone::ir
