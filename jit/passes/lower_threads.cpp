// SPDX-License-Identifier: Apache-2.0
// Loops bound to the blocks and threads of a GPU: what they may write, and the windows that the
// threads of a block share.
#include <algorithm>

#include "jit/passes/lowering.h"

namespace hone::jit {

using namespace ir;

namespace {

constexpr int kClusterSm = 90;  // the first that runs blocks in clusters

}  // namespace

/// Only a GPU has blocks, threads and the memory they share, and tiles that run whole.
void Lowering::check_marks() const {
  for (const Stage& s : program_.stages) {
    for (const Loop& l : s.loops) {
      if (l.cluster == 1 || (target_.is_cuda() && target_.generation() >= kClusterSm)) continue;
      reject("cluster " + l.name + ": " + print(target_) +
             " has no clusters of blocks; sm_90 has, leave the step out" +
             newer_compiler_hint(target_, target_.sm >= kClusterSm));
    }
  }
  if (target_.is_cuda()) return;
  for (const Stage& s : program_.stages) {
    for (const Relation& r : s.relations) {
      // A vector's sums are kept in registers across the condition that ends the domain.
      if (r.tail != Tail::kPad) continue;
      reject("split " + r.parent + " tail=pad: " + print(target_) +
             " has no instructions on tiles; use tail=mask or tail=peel");
    }
    for (const Loop& l : s.loops) {
      if (!is_block(l.mark) && !is_thread(l.mark)) continue;
      reject("bind " + l.name + " " + std::string(name_of(l.mark)) + ": " + print(target_) +
             " has no blocks and threads; use parallel and vectorize");
    }
    for (Space space : {Space::kSharedMemory, Space::kWarp}) {
      if (program_.buffer(s.output)->space != space) continue;
      reject("stage " + s.name + ": in=" + std::string(name_of(space)) +
             " is memory of a GPU; use in=scratch");
    }
  }
}

/// Whether blocks of some launch run in clusters.
bool Lowering::has_clusters() const {
  for (const Stage& s : program_.stages) {
    for (const Loop& l : s.loops) {
      if (l.cluster > 1) return true;
    }
  }
  return false;
}

void Lowering::open_threads(const Instance& in, const Loop& loop, int id, const Piece& piece) {
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

/// What a thread keeps to itself, the other threads do not see: only a reduction's parts, which are
/// combined when its threads are done, may be made by loops over threads.
void Lowering::check_threads(const Instance& in) const {
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

/// The window of a stage that is computed at `place`. What all threads of a block share does not
/// depend on which of them asks.
std::vector<Span> Lowering::window_at(const Stage& stage, const Place& place) {
  std::vector<Span> box = needed(stage.output, place);
  const Buffer& b = *program_.buffer(stage.output);
  if (b.space != Space::kSharedMemory) return box;
  Instance none;
  for (size_t d = 0; d < box.size(); ++d) {
    Span s = over_threads(box[d], b.name);
    const bool beyond = d < stage.out_index.size() && stage.out_index[d]->op == Op::kVar &&
                        overhangs(stage, stage.out_index[d]->name);
    if (!beyond) s.extent = min(s.extent, index(none, b.shape[d]) - s.lo, &facts_);
    box[d] = std::move(s);
  }
  return box;
}

/// lo .. lo+extent-1 for every thread at once.
Span Lowering::over_threads(Span span, const std::string& buffer) const {
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
