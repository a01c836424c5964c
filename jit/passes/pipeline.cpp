// SPDX-License-Identifier: Apache-2.0
#include "jit/passes/pipeline.h"

#include <algorithm>
#include <map>
#include <set>

#include "jit/ir/build.h"
#include "jit/ir/poly.h"
#include "jit/ir/visit.h"
#include "jit/passes/pass_counter.h"
#include "jit/passes/reject.h"
#include "jit/passes/statements.h"
#include "jit/passes/wgmma.h"

namespace hone::jit {

using namespace ir;

namespace {

/// Alignment of what an iteration has in a ring buffer, as TMA copies and tensor instructions want.
/// Fixed by: TMA and wgmma.
constexpr int64_t kRingAlign = 128;
constexpr int64_t kSwizzledRingAlign = 1024;

StmtRef only_where(Expr condition, std::vector<StmtRef> body) {
  int64_t holds = 0;
  if (is_const(condition, &holds)) {
    return make_sequence(holds ? std::move(body) : std::vector<StmtRef>());
  }
  return make_if(std::move(condition), make_sequence(std::move(body)));
}

/// How often each buffer occurs in a statement.
void count(const Stmt& s, std::map<int, int>& times) {
  for_each_load(s, [&](const Expr& load) { ++times[load->id]; });
  if (const auto* store = as<StoreStmt>(s)) ++times[store->buffer];
  for (const StmtRef& b : s.body) count(*b, times);
}

void flatten(const std::vector<StmtRef>& body, std::vector<StmtRef>& out) {
  for (const StmtRef& s : body) {
    if (is<SequenceStmt>(*s)) {
      flatten(s->body, out);
    } else {
      out.push_back(s);
    }
  }
}

/// What all threads of a block have TMA copy.
bool is_tma(const Stmt& s) {
  return is<TeamStmt>(s) && any_of(s, [](const Stmt& x) { return is<TmaCopyStmt>(x); });
}

class Pipeline {
 public:
  Pipeline(Nest& nest, const Launch& launch) : nest_(nest), passes_(nest, launch) {}

  StmtRef walk(const StmtRef& s) {
    if (is_tma(*s)) return fill_once(*s);
    const auto* loop = as<ForStmt>(*s);
    if (loop && loop->gpu.depth > 1) {
      ForStmt out = *loop;
      out.body.clear();
      flatten(s->body, out.body);
      for (StmtRef& b : out.body) {
        if (!is_tma(*b)) b = walk_inside(*s, 0, b);
      }
      return build(std::move(out));
    }
    size_t side = 0;
    return rewrite_children(s, [&](const StmtRef& b) { return walk_inside(*s, side++, b); });
  }

 private:
  /// `b` inside `s`, on its side `side` where that is a condition.
  StmtRef walk_inside(const Stmt& s, size_t side, const StmtRef& b) {
    const bool counted = is<ForStmt, IfStmt>(s);
    if (counted) passes_.open(s, side);
    StmtRef out = walk(b);
    if (counted) passes_.close();
    return out;
  }

  /// What a loop makes ahead of its iterations, and how positions in its ring buffers are counted.
  struct Ahead {
    std::vector<StmtRef> copies;  ///< by all threads
    std::vector<StmtRef> tma_copies;
    int pipe = -1;  ///< of the TMA copies
    Expr first;     ///< position of the first iteration
  };

  /// The loop with its copies made ahead; unchanged where there are none.
  StmtRef build(ForStmt loop) {
    Ahead early;
    std::vector<StmtRef> rest;
    for (const StmtRef& s : loop.body) {
      const bool tma = is_tma(*s);
      if (comes_early(*s, loop)) {
        if (tma) {
          early.tma_copies.insert(early.tma_copies.end(), s->body.begin(), s->body.end());
        } else {
          early.copies.push_back(s);
        }
      } else {
        rest.push_back(tma ? walk_inside(loop, 0, s) : s);
      }
    }
    if (early.copies.empty() && early.tma_copies.empty()) {
      loop.body = std::move(rest);
      loop.gpu.depth = 1;
      return make_stmt(std::move(loop));
    }
    for (const StmtRef& s : rest) check_alone(loop, *s);
    Uses made_early;
    for (const StmtRef& p : early.copies) made_early.add(*p);
    for (const StmtRef& p : early.tma_copies) made_early.add(*p);
    for (int b : made_early.written) make_ring(b, loop.gpu.depth);
    loop.gpu.lag = loop.gpu.depth > 2 && wgmma_may_go_on(rest) ? 1 : 0;
    early.first = make_int(0);
    if (!early.tma_copies.empty()) {
      early.pipe = add_pipe(early.tma_copies, loop.gpu.depth);
      early.first = passes_.number_at(loop, loop.begin, name_of_loop(loop));
    }
    return loop.gpu.specialized ? apart(std::move(loop), early, rest)
                                : around(std::move(loop), early, rest);
  }

  /// Ring buffers of a pipeline inside another would be counted on by both.
  void check_alone(const ForStmt& loop, const Stmt& inside) const {
    for_each(inside, [&](const Stmt& s) {
      const auto* other = as<ForStmt>(s);
      if (!other || other->gpu.depth <= 1) return;
      reject(name_of_loop(loop) + ": loop " + nest_.loops[static_cast<size_t>(other->loop)] +
             " inside it is a pipeline too; take one of them");
    });
  }

  /// The loop as threads of its own fill it: they wait for room, not for a barrier.
  StmtRef apart(ForStmt loop, const Ahead& early, const std::vector<StmtRef>& rest) {
    if (!early.copies.empty() || early.pipe < 0) {
      reject("specialize " + nest_.loops[static_cast<size_t>(loop.loop)] +
             ": all threads copy what is kept in=shared at it; only TMA copies are made by one");
    }
    nest_.pipes[static_cast<size_t>(early.pipe)].specialized = true;
    const Expr k = make_var(nest_.loops[static_cast<size_t>(loop.loop)], loop.loop);
    const Expr position = position_of(early, loop, k), index = ring_index(early, loop, k);
    std::vector<StmtRef> tma_copies, inside;
    for (const StmtRef& b : early.tma_copies) tma_copies.push_back(moved(b, index, {}));
    inside.push_back(make_fill(early.pipe, position, std::move(tma_copies)));
    inside.push_back(make_ready(early.pipe, position));
    for (const StmtRef& s : rest) inside.push_back(moved(s, index, {}));
    const Expr before = position_of(early, loop, k - make_int(loop.gpu.lag));
    const StmtRef release = make_release(early.pipe, before);
    if (loop.gpu.lag == 0) {
      inside.push_back(release);
      loop.body = std::move(inside);
      return make_stmt(std::move(loop));
    }
    inside.push_back(only_where(make_binary(Op::kLt, loop.begin, k), {release}));
    loop.body = std::move(inside);
    const Expr last = position_of(early, loop, loop.end - make_int(1));
    const StmtRef rest_of_it =
        only_where(make_binary(Op::kLt, loop.begin, loop.end), {make_release(early.pipe, last)});
    return make_sequence({make_stmt(std::move(loop)), rest_of_it});
  }

  /// The first iterations' parts before the loop, and the loop that makes the others'.
  StmtRef around(ForStmt loop, const Ahead& early, const std::vector<StmtRef>& rest) {
    const int64_t ahead = loop.gpu.depth - 1 - loop.gpu.lag;
    const Expr k = make_var(nest_.loops[static_cast<size_t>(loop.loop)], loop.loop);
    std::vector<StmtRef> out, inside;
    for (int64_t j = 0; j < ahead; ++j) produce(early, loop, loop.begin + make_int(j), out);
    if (!early.copies.empty()) {
      inside.push_back(make_copy_wait(static_cast<int>(ahead) - 1));
    }
    inside.push_back(make_barrier());
    produce(early, loop, k + make_int(ahead), inside);
    if (early.pipe >= 0) inside.push_back(make_ready(early.pipe, position_of(early, loop, k)));
    const Expr index = ring_index(early, loop, k);
    for (const StmtRef& s : rest) inside.push_back(moved(s, index, {}));
    loop.body = std::move(inside);
    out.push_back(make_stmt(std::move(loop)));
    return make_sequence(std::move(out));
  }

  std::string name_of_loop(const ForStmt& loop) const {
    return "pipeline " + nest_.loops[static_cast<size_t>(loop.loop)];
  }

  /// A TMA copy that no pipeline makes early: filled where it stands, and awaited at once.
  StmtRef fill_once(const Stmt& s) {
    const int pipe = add_pipe(s.body, 1);
    const int to = nest_.pipes.back().buffers.front();
    const Expr position = passes_.number("tma " + nest_.buffers[static_cast<size_t>(to)].name);
    return make_sequence({make_fill(pipe, position, s.body), make_ready(pipe, position)});
  }

  int add_pipe(const std::vector<StmtRef>& tma_copies, int depth) {
    Pipe pipe;
    pipe.depth = depth;
    Uses uses;
    for (const StmtRef& b : tma_copies) {
      uses.add(*b);
      pipe.bytes += bytes_of(*b);
    }
    pipe.buffers.assign(uses.written.begin(), uses.written.end());
    nest_.pipes.push_back(std::move(pipe));
    return static_cast<int>(nest_.pipes.size()) - 1;
  }

  /// Bytes that the copies in `s` bring: whole ones, also where they lie outside their tensor.
  int64_t bytes_of(const Stmt& s) const {
    if (const auto* copy = as<TmaCopyStmt>(s)) {
      const TensorMap& map = nest_.maps[static_cast<size_t>(copy->map)];
      return map.box_elements() * size_of(nest_.buffers[static_cast<size_t>(map.buffer)].type);
    }
    int64_t inside = 0, trips = 1;
    for (const StmtRef& b : s.body) inside += bytes_of(*b);
    if (const auto* loop = as<ForStmt>(s)) is_const(loop->end, &trips);
    return inside * trips;
  }

  /// What all threads make of nothing that the loop makes, for this loop alone.
  bool comes_early(const Stmt& s, const ForStmt& loop) const {
    if (!is<TeamStmt>(s)) return false;
    Uses own, all;
    own.add(s);
    all.add(loop);
    std::map<int, int> in_loop, in_stmt;
    count(loop, in_loop);
    count(s, in_stmt);
    bool shared = false;
    for (int b : own.written) {
      const Home home = nest_.buffers[static_cast<size_t>(b)].home;
      shared |= home == Home::kSharedMemory;
      if (home != Home::kSharedMemory && home != Home::kRegisters && home != Home::kWorker)
        return false;
      if (occurrences(b) != in_loop[b] || nest_.buffers[static_cast<size_t>(b)].depth > 1)
        return false;
      if (home != Home::kSharedMemory && in_loop[b] != in_stmt[b]) return false;
    }
    std::set<int> others = own.read;
    for (int b : own.written) {
      if (nest_.buffers[static_cast<size_t>(b)].home != Home::kSharedMemory) others.erase(b);
    }
    return shared && !meet(others, all.written);
  }

  /// Of a buffer, in all launches; most nests have no pipeline that asks.
  int occurrences(int buffer) const {
    if (times_.empty()) {
      for (const Launch& l : nest_.launches) count(*l.body, times_);
    }
    return times_.at(buffer);
  }

  void make_ring(int buffer, int depth) {
    NestBuffer& b = nest_.buffers[static_cast<size_t>(buffer)];
    if (b.home != Home::kSharedMemory) return;
    const int64_t align = b.swizzle ? kSwizzledRingAlign : kRingAlign;
    const int64_t size = (b.max_bytes + align - 1) / align * align;
    ring_stride_[buffer] = size / size_of(b.type);
    b.depth = depth;
    b.max_bytes = size * depth;
    b.elements = make_int(b.max_bytes / size_of(b.type));
  }

  static Expr position_of(const Ahead& early, const ForStmt& loop, const Expr& k) {
    return Poly::of(early.first + k - loop.begin).expr();
  }

  static Expr ring_index(const Ahead& early, const ForStmt& loop, const Expr& k) {
    return make_binary(Op::kMod, early.first + k - loop.begin, make_int(loop.gpu.depth));
  }

  /// Appends what comes early at iteration `k`, if there is one.
  void produce(const Ahead& early, const ForStmt& loop, const Expr& k, std::vector<StmtRef>& out) {
    const Expr index = ring_index(early, loop, k);
    const std::map<int, Expr> values{{loop.loop, k}};
    const auto all = [&](const std::vector<StmtRef>& producers) {
      std::vector<StmtRef> body;
      for (const StmtRef& p : producers) body.push_back(moved(p, index, values));
      return body;
    };
    if (!early.copies.empty()) {
      out.push_back(if_any(loop, k, all(early.copies)));
      out.push_back(make_copy_commit());
    }
    if (early.pipe < 0) return;
    const Expr position = position_of(early, loop, k);
    out.push_back(if_any(loop, k, {make_fill(early.pipe, position, all(early.tma_copies))}));
  }

  /// `body` where the loop has an iteration `k`.
  static StmtRef if_any(const ForStmt& loop, const Expr& k, std::vector<StmtRef> body) {
    return only_where(make_binary(Op::kLt, k, loop.end), std::move(body));
  }

  /// `s` at `index` of the ring buffers, with loops replaced by `values`; loops inside it are new
  /// ones where any is.
  StmtRef moved(const StmtRef& s, const Expr& index, std::map<int, Expr> values) {
    return visit(*s, [&](auto out) {
      each_expr(out, [&](Expr& e) { e = expr_of(e, index, values); });
      if constexpr (requires { out.offset; }) out.offset = in_ring(out.buffer, out.offset, index);
      using T = decltype(out);
      if constexpr (std::is_same_v<T, ForStmt>) {
        if (!values.empty()) values[to<ForStmt>(*s).loop] = renewed(out);
      }
      if constexpr (std::is_same_v<T, StoreStmt>) {
        out.async |= !in_tma_copy_ && !values.empty() && copies(out);
      }
      const bool before = in_tma_copy_;
      in_tma_copy_ |= std::is_same_v<T, TmaCopyStmt>;
      for (StmtRef& b : out.body) b = moved(b, index, values);
      in_tma_copy_ = before;
      return make_stmt(std::move(out));
    });
  }

  /// Gives the loop a number of its own, and its variable.
  Expr renewed(ForStmt& loop) {
    nest_.loops.push_back(std::string(nest_.loops[static_cast<size_t>(loop.loop)]));
    loop.loop = static_cast<int>(nest_.loops.size()) - 1;
    return make_var(nest_.loops.back(), loop.loop);
  }

  Expr expr_of(const Expr& e, const Expr& index, const std::map<int, Expr>& values) const {
    return rewrite(e, [&](const Expr& x) -> Expr {
      if (x->op == Op::kVar) {
        const auto found = values.find(x->id);
        return found == values.end() ? Expr() : found->second;
      }
      if (x->op != Op::kLoad) return {};
      std::vector<Expr> args = x->args;
      args[0] = in_ring(x->id, args[0], index);
      return with_args(x, std::move(args));
    });
  }

  /// An offset at `index` of a ring buffer; in another buffer the offset itself.
  Expr in_ring(int buffer, const Expr& offset, const Expr& index) const {
    const auto size = ring_stride_.find(buffer);
    if (size == ring_stride_.end()) return offset;
    return Poly::of(offset).expr() + make_int(size->second) * index;
  }

  /// Shared memory is given what stands in the GPU's memory as it is.
  bool copies(const StoreStmt& s) const {
    if (s.reduce != Reduce::kNone || s.value->op != Op::kLoad) return false;
    const NestBuffer& to = nest_.buffers[static_cast<size_t>(s.buffer)];
    const NestBuffer& from = nest_.buffers[static_cast<size_t>(s.value->id)];
    return to.home == Home::kSharedMemory && to.type == from.type &&
           (from.home == Home::kArgument || from.home == Home::kBound ||
            from.home == Home::kWorkspace);
  }

  Nest& nest_;
  PassCounter passes_;
  bool in_tma_copy_ = false;            ///< what a TMA copy means is being moved
  mutable std::map<int, int> times_;    ///< of occurrences(), when asked
  std::map<int, int64_t> ring_stride_;  ///< elements from one iteration to the next, by buffer
};

}  // namespace

Nest pipelined(Nest nest) {
  std::vector<StmtRef> bodies;
  for (const Launch& l : nest.launches) bodies.push_back(Pipeline(nest, l).walk(l.body));
  for (size_t i = 0; i < bodies.size(); ++i) nest.launches[i].body = bodies[i];
  return nest;
}

}  // namespace hone::jit
