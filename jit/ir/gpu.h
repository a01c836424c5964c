// SPDX-License-Identifier: Apache-2.0
// Statements that only a GPU has.
#pragma once

#include <vector>

#include "jit/ir/stmt.h"

namespace hone::ir {

/// A statement of a GPU's kernel.
struct GpuStmt : Stmt {
 protected:
  using Stmt::Stmt;
};

/// Runs its body once, by all threads of a block together. Thread loops around it are not its own,
/// and it mentions none of them.
struct TeamStmt : StmtOf<StmtKind::kTeam, GpuStmt> {};

/// All threads of a block wait for one another.
struct BarrierStmt : StmtOf<StmtKind::kBarrier, GpuStmt> {};

/// The asynchronous stores since the last commit are a group of their own.
struct CopyCommitStmt : StmtOf<StmtKind::kCopyCommit, GpuStmt> {};

/// Waits until at most `pending` groups of copies, the youngest, are under way.
struct CopyWaitStmt : StmtOf<StmtKind::kCopyWait, GpuStmt> {
  int pending = 0;
};

/// Products of a warpgroup follow that hold `buffer`; -1: they add to results of earlier ones.
struct WgmmaFenceStmt : StmtOf<StmtKind::kWgmmaFence, GpuStmt> {
  int buffer = -1;
};

/// The products since the last commit are a group of their own.
struct WgmmaCommitStmt : StmtOf<StmtKind::kWgmmaCommit, GpuStmt> {};

/// Waits until at most `pending` groups of products are under way. Of 0, the threads may read
/// `buffer` again.
struct WgmmaWaitStmt : StmtOf<StmtKind::kWgmmaWait, GpuStmt> {
  int buffer = -1;
  int pending = 0;
};

/// TMA copies a box of tensor map `map` from coordinates `at` to `buffer` at `offset`. The body is
/// what that means, element by element; it is not run.
struct TmaCopyStmt : StmtOf<StmtKind::kTmaCopy, GpuStmt> {
  int map = -1;          ///< in Nest::maps
  std::vector<Expr> at;  ///< first index of the box, per dimension of the map
  int buffer = -1;
  Expr offset;
  int cluster = 1;  ///< blocks that each bring a part of it to all
  static constexpr auto kExprs = std::make_tuple(&TmaCopyStmt::at, &TmaCopyStmt::offset);
};

/// One thread announces the bytes of pipe `pipe` at `position` and starts the copies in the body.
/// They may land as late as at the ReadyStmt of the position.
struct FillStmt : StmtOf<StmtKind::kFill, GpuStmt> {
  int pipe = -1;  ///< in Nest::pipes
  Expr position;  ///< how often the launch filled the pipe before
  static constexpr auto kExprs = std::make_tuple(&FillStmt::position);
};

/// Waits until what the FillStmt of `pipe` started at `position` is there.
struct ReadyStmt : StmtOf<StmtKind::kReady, GpuStmt> {
  int pipe = -1;
  Expr position;
  static constexpr auto kExprs = std::make_tuple(&ReadyStmt::position);
};

/// A warp is done with what is there of `position`; only of pipes that are specialized.
struct ReleaseStmt : StmtOf<StmtKind::kRelease, GpuStmt> {
  int pipe = -1;
  Expr position;
  static constexpr auto kExprs = std::make_tuple(&ReleaseStmt::position);
};

StmtRef make_team(std::vector<StmtRef> body);
StmtRef make_barrier();
StmtRef make_copy_commit();
StmtRef make_copy_wait(int pending);
StmtRef make_wgmma_fence(int buffer = -1);
StmtRef make_wgmma_commit();
StmtRef make_wgmma_wait(int buffer, int pending = 0);
StmtRef make_tma_copy(int map, std::vector<Expr> at, int buffer, Expr offset, StmtRef elements);
StmtRef make_fill(int pipe, Expr position, std::vector<StmtRef> copies);
StmtRef make_ready(int pipe, Expr position);
StmtRef make_release(int pipe, Expr position);

}  // namespace hone::ir
