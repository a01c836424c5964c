// SPDX-License-Identifier: Apache-2.0
#include "jit/passes/lower/thread_loops.h"

#include <algorithm>

#include "jit/ir/scan.h"
#include "jit/passes/reject.h"

namespace hone::jit {

using namespace ir;

namespace {

/// Fixed by: CUDA.
constexpr int kClusterSm = 90;  // the first that runs blocks in clusters

}  // namespace

void check_marks(const Program& program, const Target& target) {
  for (const Stage& s : program.stages) {
    for (const Loop& l : s.loops) {
      if (l.gpu.cluster == 1 || (target.is_cuda() && target.generation() >= kClusterSm)) continue;
      reject("cluster " + l.name + ": " + print(target) +
             " has no clusters of blocks; sm_90 has, leave the step out" +
             newer_compiler_hint(target, target.sm >= kClusterSm));
    }
  }
  if (target.is_cuda()) {
    for (const Stage& s : program.stages) {
      const auto loop = scanning_loop(s);
      if (!loop) continue;
      reject("vectorize " + s.loops[*loop].name + ": iterations of stage " + s.name +
             " go on from one another, which words of a thread do not; unroll the loop");
    }
    return;
  }
  for (const Stage& s : program.stages) {
    for (const Relation& r : s.relations) {
      // A vector's sums are kept in registers across the condition that ends the domain.
      if (r.tail != Tail::kPad) continue;
      reject("split " + r.parent + " tail=pad: " + print(target) +
             " has no instructions on tiles; use tail=mask or tail=peel");
    }
    for (const Loop& l : s.loops) {
      if (!is_block(l.mark) && !is_thread(l.mark)) continue;
      reject("bind " + l.name + " " + std::string(name_of(l.mark)) + ": " + print(target) +
             " has no blocks and threads; use parallel and vectorize");
    }
    for (Space space : {Space::kSharedMemory, Space::kWarp}) {
      if (program.buffer(s.output)->space != space) continue;
      reject("stage " + s.name + ": in=" + std::string(name_of(space)) +
             " is memory of a GPU; use in=scratch");
    }
  }
}

bool has_clusters(const Program& program) {
  for (const Stage& s : program.stages) {
    for (const Loop& l : s.loops) {
      if (l.gpu.cluster > 1) return true;
    }
  }
  return false;
}

void ThreadLoops::open(const Instance& in, const Loop& loop, int id, const Piece& piece) {
  const Stage& s = in.stage();
  const auto most = facts_.upper(piece.end);
  const int64_t limit = loop.mark == Mark::kThreadZ ? 64 : 1024;
  if (!most || *most > limit) {
    reject("loop " + loop.name + " of " + s.name + " has " + print(piece.end.expr()) +
           " iterations and is bound to " + std::string(name_of(loop.mark)) + "; a block has " +
           std::to_string(limit) + " threads along it: split it and bind the inner loop");
  }
  const bool together = program_.buffer(s.output)->space == Space::kSharedMemory;
  for (const ThreadLoop& open : threads_) {
    if (open.mark != loop.mark || together) continue;
    reject("loop " + loop.name + " of " + s.name + " is bound to " +
           std::string(name_of(loop.mark)) + " inside " +
           nest_.loops[static_cast<size_t>(open.id)] + ", which is bound to it already; keep " +
           s.output + " in=shared, or take another axis");
  }
  threads_.push_back({id, loop.mark, std::max<int64_t>(*most, 1)});
}

void ThreadLoops::check(const Instance& in) const {
  const Stage& s = in.stage();
  const Buffer& output = *program_.buffer(s.output);
  const Space space = output.role == Role::kTemp ? output.space : Space::kRoot;
  if (space == Space::kSharedMemory && s.reduce != Reduce::kNone) {
    reject("stage " + s.name + " reduces into shared memory; keep it in=registers, and stage that");
  }
  const bool own = space == Space::kRegisters || space == Space::kScratch;
  for (const Loop& l : s.loops) {
    if (!is_thread(l.mark)) continue;
    const bool reduced = in.loops->nodes[static_cast<size_t>(in.loops->find(l.name))].reduction;
    if (own && !reduced) {
      reject("loop " + l.name + " of " + s.name + " is bound to threads, each of which has " +
             s.output + " to itself; use in=shared, or compute it inside the loop over threads");
    }
    if (space == Space::kWarp && (reduced || l.mark != Mark::kThreadX)) {
      reject("loop " + l.name + " of " + s.name + " is bound to " + std::string(name_of(l.mark)) +
             "; the lanes that hold " + s.output + " are iterations of thread.x, each of which " +
             "writes what it holds: use lanes");
    }
    if (space == Space::kRoot && reduced) {
      reject("the threads of " + l.name + " reduce into " + s.output +
             ", which is in memory; stage it in=registers at a loop around them");
    }
  }
}

Span ThreadLoops::over_all(Span span, const std::string& buffer) const {
  for (const ThreadLoop& t : threads_) {
    const int64_t c = span.lo.loop_coef(t.id);
    const Poly own = Poly(c) * Poly::atom(make_var(nest_.loops[static_cast<size_t>(t.id)], t.id));
    span.lo -= own;
    if (c < 0) span.lo += Poly(c * (t.most - 1));
    if (span.lo.mentions_loop(t.id)) {
      reject("the window of " + buffer + " starts at " + print((span.lo + own).expr()) +
             " for a thread, so that no window holds all threads' parts; keep it in=registers");
    }
    if (span.extent.mentions_loop(t.id)) {
      const auto most = facts_.upper(span.extent);
      if (!most) {
        reject("the window of " + buffer +
               " has no constant upper bound: " + print(span.extent.expr()));
      }
      span.extent = *most;
    }
    span.extent += Poly((c < 0 ? -c : c) * (t.most - 1));
  }
  return span;
}

}  // namespace hone::jit
