// SPDX-License-Identifier: Apache-2.0
#include "jit/passes/barriers.h"

#include <set>

#include "jit/ir/visit.h"
#include "jit/passes/statements.h"

namespace hone::jit {

using namespace ir;

namespace {

/// Buffers in shared memory that are touched; since the last barrier, or by a statement.
struct Touched {
  std::set<int> read, written;

  void add(const Touched& other) {
    read.insert(other.read.begin(), other.read.end());
    written.insert(other.written.begin(), other.written.end());
  }
  bool clashes(const Touched& next) const {
    return meet(written, next.read) || meet(read, next.written);
  }
};

class Barriers {
 public:
  explicit Barriers(const Nest& nest) : nest_(nest) {}

  /// `s` with the barriers it needs inside; `open` is what was touched since the last barrier,
  /// before it and then after it.
  StmtRef place(const StmtRef& s, Touched& open) {
    if (const auto* ready = as<ReadyStmt>(*s)) {
      // Whoever waited may read.
      for (int b : nest_.pipes[static_cast<size_t>(ready->pipe)].buffers) open.written.erase(b);
    }
    if (s->body.empty() || is<FillStmt>(*s)) {
      open.add(touched(*s));
      return s;
    }
    if (const auto* loop = as<ForStmt>(*s)) return place_in_loop(s, *loop, open);
    if (is<IfStmt>(*s)) return place_in_sides(s, open);
    return with_body(*s, list(s->body, open));
  }

 private:
  StmtRef place_in_sides(const StmtRef& s, Touched& open) {
    Touched after;
    StmtRef out = rewrite_children(s, [&](const StmtRef& side) {
      Touched taken = open;
      StmtRef placed = place(side, taken);
      after.add(taken);
      return placed;
    });
    after.add(open);
    open = std::move(after);
    return out;
  }

  StmtRef place_in_loop(const StmtRef& s, const ForStmt& loop, Touched& open) {
    if (loop.gpu.depth > 1 && ordered_.empty()) return pipeline(s, open);
    const Touched before = open;
    if (is_block(loop.mark) || is_thread(loop.mark)) {
      StmtRef out = with_body(*s, list(s->body, open));
      open.add(before);
      return out;
    }
    // The next iteration comes after this one; there may be none at all.
    Touched last = open;
    list(s->body, last);
    open.add(last);
    StmtRef out = with_body(*s, list(s->body, open));
    int64_t begin = 0, end = 0;
    const bool runs = is_const(loop.begin, &begin) && is_const(loop.end, &end) && end > begin;
    if (!runs) open.add(before);
    return out;
  }

  bool in_shared_memory(int buffer) const {
    return nest_.buffers[static_cast<size_t>(buffer)].home == Home::kSharedMemory &&
           !ordered_.contains(buffer);
  }

  /// A pipeline orders its ring buffers itself, from where they are filled first.
  StmtRef pipeline(const StmtRef& s, Touched& open) {
    const Touched all = touched(*s);
    for (const std::set<int>* touched : {&all.read, &all.written}) {
      for (int b : *touched) {
        if (nest_.buffers[static_cast<size_t>(b)].depth > 1) ordered_.insert(b);
      }
    }
    StmtRef out = place(s, open);
    ordered_.clear();
    open.add(all);
    return out;
  }

  /// What `s` touches that what comes before must be done with.
  Touched entered(const Stmt& s) const {
    Touched t = touched(s);
    const auto own = [&](int b) { return nest_.buffers[static_cast<size_t>(b)].depth > 1; };
    const auto* loop = as<ForStmt>(s);
    if (loop && loop->gpu.depth > 1) {
      std::erase_if(t.read, own);
      std::erase_if(t.written, own);
    }
    return t;
  }

  /// What `s` touches, with all inside it.
  Touched touched(const Stmt& s) const {
    Touched t;
    for_each_load(s, [&](const Expr& load) {
      if (in_shared_memory(load->id)) t.read.insert(load->id);
    });
    const auto* store = as<StoreStmt>(s);
    if (store && in_shared_memory(store->buffer)) t.written.insert(store->buffer);
    for (const StmtRef& b : s.body) t.add(touched(*b));
    return t;
  }

  std::vector<StmtRef> list(const std::vector<StmtRef>& body, Touched& open) {
    std::vector<StmtRef> out;
    for (const StmtRef& s : body) {
      if (is<SequenceStmt>(*s)) {
        for (StmtRef& inner : list(s->body, open)) out.push_back(std::move(inner));
        continue;
      }
      if (is<BarrierStmt>(*s)) open = {};
      if (open.clashes(entered(*s))) {
        out.push_back(make_barrier());
        open = {};
      }
      out.push_back(place(s, open));
    }
    return out;
  }

  const Nest& nest_;
  std::set<int> ordered_;  ///< by the pipeline that is open
};

}  // namespace

Nest with_barriers(Nest nest) {
  Barriers barriers(nest);
  std::vector<StmtRef> bodies;
  for (const Launch& l : nest.launches) {
    Touched open;
    StmtRef body = barriers.place(l.body, open);
    // A range that is no block's is a loop inside the kernel: its iterations follow one another.
    int64_t extent = 0;
    const bool once = is_const(l.extent, &extent) && extent <= 1;
    if (!is_block(l.mark) && !once) body = barriers.place(l.body, open);
    bodies.push_back(std::move(body));
  }
  for (size_t i = 0; i < bodies.size(); ++i) nest.launches[i].body = bodies[i];
  return nest;
}

}  // namespace hone::jit
