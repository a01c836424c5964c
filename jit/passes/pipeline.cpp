// SPDX-License-Identifier: Apache-2.0
#include "jit/passes/pipeline.h"

#include <algorithm>
#include <map>
#include <set>

#include "jit/ir/poly.h"

namespace hone::jit {

using namespace ir;

namespace {

/// Slots begin at what bulk copies and tensor instructions want of shared memory.
constexpr int64_t kSlotAlign = 128;
constexpr int64_t kSwizzledSlotAlign = 1024;

StmtRef made(Stmt s) { return std::make_shared<const Stmt>(std::move(s)); }

StmtRef of_kind(Stmt::Kind kind, std::vector<StmtRef> body = {}) {
  Stmt s;
  s.kind = kind;
  s.body = std::move(body);
  return made(std::move(s));
}

StmtRef only_where(Expr condition, std::vector<StmtRef> body) {
  Stmt s;
  s.kind = Stmt::kIf;
  s.condition = std::move(condition);
  s.body.push_back(of_kind(Stmt::kBlock, std::move(body)));
  return made(std::move(s));
}

/// Buffers that a statement reads and writes.
struct Uses {
  std::set<int> read, written;

  void add(const Stmt& s) {
    for (const Expr* e : {&s.begin, &s.end, &s.condition, &s.offset, &s.value}) {
      visit(*e, [&](const Expr& x) {
        if (x->op == Op::kLoad) read.insert(x->id);
      });
    }
    if (s.kind == Stmt::kStore) written.insert(s.id);
    for (const StmtRef& b : s.body) add(*b);
  }
  bool touches(int buffer) const { return read.contains(buffer) || written.contains(buffer); }
};

bool meet(const std::set<int>& a, const std::set<int>& b) {
  return std::any_of(a.begin(), a.end(), [&](int x) { return b.contains(x); });
}

/// How often each buffer occurs in a statement.
void count(const Stmt& s, std::map<int, int>& times) {
  for (const Expr* e : {&s.begin, &s.end, &s.condition, &s.offset, &s.value}) {
    visit(*e, [&](const Expr& x) { times[x->id] += x->op == Op::kLoad; });
  }
  if (s.kind == Stmt::kStore) ++times[s.id];
  for (const StmtRef& b : s.body) count(*b, times);
}

void flatten(const std::vector<StmtRef>& body, std::vector<StmtRef>& out) {
  for (const StmtRef& s : body) {
    if (s->kind == Stmt::kBlock) {
      flatten(s->body, out);
    } else {
      out.push_back(s);
    }
  }
}

class Pipeline {
 public:
  explicit Pipeline(Nest& nest) : nest_(nest) {
    for (const Launch& l : nest.launches) count(*l.body, times_);
  }

  StmtRef walk(const StmtRef& s) {
    if (s->body.empty()) return s;
    Stmt out = *s;
    for (StmtRef& b : out.body) b = walk(b);
    const bool loop = s->kind == Stmt::kFor && s->stages > 1;
    if (!loop) return made(std::move(out));
    return build(std::move(out));
  }

 private:
  /// The loop with what it produces ahead; as it is where there is nothing.
  StmtRef build(Stmt loop) {
    std::vector<StmtRef> body, producers, rest;
    flatten(loop.body, body);
    for (const StmtRef& s : body) (comes_early(*s, loop) ? producers : rest).push_back(s);
    if (producers.empty()) {
      loop.stages = 1;
      return made(std::move(loop));
    }
    Uses made_early;
    for (const StmtRef& p : producers) made_early.add(*p);
    for (int b : made_early.written) add_slots(b, loop.stages);

    const int64_t ahead = loop.stages - 1;
    const Expr k = make_var(nest_.loops[static_cast<size_t>(loop.id)], loop.id);
    std::vector<StmtRef> out;
    for (int64_t j = 0; j < ahead; ++j) {
      out.push_back(produce(producers, loop, loop.begin + make_int(j), make_int(j)));
      out.push_back(of_kind(Stmt::kCommit));
    }
    Stmt wait;
    wait.kind = Stmt::kWait;
    wait.pending = loop.stages - 2;
    const Expr next = k + make_int(ahead);
    std::vector<StmtRef> inside = {made(std::move(wait)), of_kind(Stmt::kBarrier),
                                   produce(producers, loop, next, slot_of(next, loop)),
                                   of_kind(Stmt::kCommit)};
    const Expr slot = slot_of(k, loop);
    for (const StmtRef& s : rest) inside.push_back(moved(s, slot, {}));
    loop.body = std::move(inside);
    out.push_back(made(std::move(loop)));
    return of_kind(Stmt::kBlock, std::move(out));
  }

  /// What all threads make of nothing that the loop makes, for this loop alone.
  bool comes_early(const Stmt& s, const Stmt& loop) const {
    if (s.kind != Stmt::kTeam) return false;
    Uses own, all;
    own.add(s);
    all.add(loop);
    std::map<int, int> in_loop, in_team;
    count(loop, in_loop);
    count(s, in_team);
    bool shared = false;
    for (int b : own.written) {
      const Home home = nest_.buffers[static_cast<size_t>(b)].home;
      shared |= home == Home::kTeam;
      if (home != Home::kTeam && home != Home::kRegisters && home != Home::kWorker) return false;
      if (times_.at(b) != in_loop[b] || nest_.buffers[static_cast<size_t>(b)].slots > 1)
        return false;
      if (home != Home::kTeam && in_loop[b] != in_team[b]) return false;
    }
    std::set<int> others = own.read;
    for (int b : own.written) {
      if (nest_.buffers[static_cast<size_t>(b)].home != Home::kTeam) others.erase(b);
    }
    return shared && !meet(others, all.written);
  }

  void add_slots(int buffer, int slots) {
    NestBuffer& b = nest_.buffers[static_cast<size_t>(buffer)];
    if (b.home != Home::kTeam) return;
    const int64_t align = b.swizzle ? kSwizzledSlotAlign : kSlotAlign;
    const int64_t size = (b.max_bytes + align - 1) / align * align;
    slot_size_[buffer] = size / size_of(b.type);
    b.slots = slots;
    b.max_bytes = size * slots;
    b.elements = make_int(b.max_bytes / size_of(b.type));
  }

  static Expr slot_of(const Expr& k, const Stmt& loop) {
    return make_binary(Op::kMod, k - loop.begin, make_int(loop.stages));
  }

  /// What the producers make at iteration `k`, if there is one.
  StmtRef produce(const std::vector<StmtRef>& producers, const Stmt& loop, const Expr& k,
                  const Expr& slot) {
    std::map<int, Expr> values{{loop.id, k}};
    std::vector<StmtRef> body;
    for (const StmtRef& p : producers) body.push_back(moved(p, slot, values));
    int64_t now = 0, end = 0;
    if (is_const(k, &now) && is_const(loop.end, &end)) {
      return of_kind(Stmt::kBlock, now < end ? std::move(body) : std::vector<StmtRef>());
    }
    return only_where(make_binary(Op::kLt, k, loop.end), std::move(body));
  }

  /// `s` on `slot` of what comes early, with loops replaced by `values`; loops inside it are new
  /// ones where any is.
  StmtRef moved(const StmtRef& s, const Expr& slot, std::map<int, Expr> values) {
    Stmt out = *s;
    if (s->kind == Stmt::kFor) {
      out.begin = expr_of(s->begin, slot, values);
      out.end = expr_of(s->end, slot, values);
      if (!values.empty()) {
        out.id = static_cast<int>(nest_.loops.size());
        nest_.loops.push_back(nest_.loops[static_cast<size_t>(s->id)]);
        values[s->id] = make_var(nest_.loops.back(), out.id);
      }
    }
    out.condition = expr_of(s->condition, slot, values);
    out.value = expr_of(s->value, slot, values);
    if (s->offset) out.offset = in_slot(s->id, expr_of(s->offset, slot, values), slot);
    out.async = s->async || (!values.empty() && copies(*s));
    for (StmtRef& b : out.body) b = moved(b, slot, values);
    return made(std::move(out));
  }

  Expr expr_of(const Expr& e, const Expr& slot, const std::map<int, Expr>& values) const {
    return rewrite(e, [&](const Expr& x) -> Expr {
      if (x->op == Op::kVar) {
        const auto found = values.find(x->id);
        return found == values.end() ? Expr() : found->second;
      }
      if (x->op != Op::kLoad) return {};
      std::vector<Expr> args = x->args;
      args[0] = in_slot(x->id, args[0], slot);
      return with_args(x, std::move(args));
    });
  }

  /// An offset in the slot, where the buffer has several.
  Expr in_slot(int buffer, const Expr& offset, const Expr& slot) const {
    const auto size = slot_size_.find(buffer);
    if (size == slot_size_.end()) return offset;
    return Poly::of(offset).expr() + make_int(size->second) * slot;
  }

  /// Shared memory is given what stands in the GPU's memory as it is.
  bool copies(const Stmt& s) const {
    if (s.kind != Stmt::kStore || s.reduce != Reduce::kNone || s.value->op != Op::kLoad) {
      return false;
    }
    const NestBuffer& to = nest_.buffers[static_cast<size_t>(s.id)];
    const NestBuffer& from = nest_.buffers[static_cast<size_t>(s.value->id)];
    return to.home == Home::kTeam && to.type == from.type &&
           (from.home == Home::kArgument || from.home == Home::kBound ||
            from.home == Home::kShared);
  }

  Nest& nest_;
  std::map<int, int> times_;          ///< occurrences of each buffer in all launches
  std::map<int, int64_t> slot_size_;  ///< elements, of buffers with slots
};

}  // namespace

Nest pipelined(Nest nest) {
  Pipeline pipeline(nest);
  std::vector<StmtRef> bodies;
  for (const Launch& l : nest.launches) bodies.push_back(l.body);
  for (size_t i = 0; i < bodies.size(); ++i) nest.launches[i].body = pipeline.walk(bodies[i]);
  return nest;
}

}  // namespace hone::jit
