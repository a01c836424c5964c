// SPDX-License-Identifier: Apache-2.0
#include "jit/passes/loop_invariants.h"

#include <algorithm>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "jit/ir/build.h"
#include "jit/ir/choices.h"
#include "jit/ir/facts.h"
#include "jit/ir/operations.h"
#include "jit/ir/visit.h"

namespace hone::jit {

using namespace ir;

namespace {

/// Instructions that a value takes to be worth a register.
/// Chosen: as `hoist` has it for values that are kept in memory (not measured).
constexpr double kHeavy = 7;
/// The same where it is one value for all lanes: a single register, or one load where there is
/// none. Tuned on: Zen 3 (AVX2).
constexpr double kHeavyUniform = 3;

std::set<int> written_in(const Stmt& s) {
  std::set<int> out;
  for_each(s, [&](const Stmt& x) {
    if (const auto* store = as<StoreStmt>(x)) out.insert(store->buffer);
  });
  return out;
}

/// A product, which a sum adds unrounded.
bool is_product(const Expr& e) {
  return e->op == Op::kMul || (e->op == Op::kNeg && is_product(e->args[0]));
}

/// What a value depends on.
struct Needs {
  std::set<int> loops, buffers;
  bool reads_unasked = false;  ///< an element that may not be there unless the value is needed
};

/// `asked`: elements that are read in any case.
Needs needs_of(const Expr& e, const std::vector<Expr>& asked) {
  Needs out;
  visit(e, [&](const Expr& x) {
    if (x->op == Op::kVar) out.loops.insert(x->id);
    if (x->op != Op::kLoad) return;
    out.buffers.insert(x->id);
    out.reads_unasked |= !x->guarded && std::none_of(asked.begin(), asked.end(),
                                                     [&](const Expr& a) { return equal(a, x); });
  });
  return out;
}

class Mover {
 public:
  explicit Mover(Nest& nest) : nest_(nest) {
    for (const Dim& d : nest.dims) facts_.define_dim(d.name, d.lo, d.hi);
  }

  /// The range of a launch is the outermost loop.
  void run(Launch& launch) {
    const StmtRef range =
        make_for(launch.range, Mark::kSerial, make_int(0), launch.extent, {launch.body});
    std::vector<StmtRef> all = list_in(Scope{}, {range}).body;
    launch.body = make_body(all.back()->body);
    all.pop_back();
    if (!all.empty()) launch.before = make_body(std::move(all));
  }

 private:
  /// A value that is kept, and where.
  struct Kept {
    Expr value, load;
    Needs needs;
  };

  /// A list of statements: what is moved in front of one of them stands among them.
  struct Scope {
    const Stmt* statement = nullptr;  ///< whose list it is; null: a launch's or a branch's
    const ForStmt* loop = nullptr;    ///< the statement as a loop
    bool runs = true;                 ///< the list is run at least once
    std::vector<Kept> kept;
    std::vector<StmtRef> pending;  ///< in front of the statement that is looked at
  };

  struct List {
    std::vector<StmtRef> body;
    StmtRef make() { return make_body(std::move(body)); }
  };

  List list_in(Scope scope, const std::vector<StmtRef>& body);
  StmtRef moved_in(const StmtRef& s);
  Expr moved(const Expr& e, bool summand, bool chosen);
  Expr with_moved_parts(const Expr& e, bool summand, bool chosen);
  /// One value for all lanes of the vector loop around.
  bool is_uniform(const Needs& needs) const;
  size_t home_of(const Needs& needs) const;
  bool may_leave(const Scope& scope, const Needs& needs) const;
  Expr keep(const Expr& e, Needs needs, Scope& scope);

  Nest& nest_;
  Facts facts_;
  std::vector<Scope> scopes_;
  std::vector<Expr> asked_;  ///< of the statement that is looked at
};

/// The statements of a list, and in front of each what was moved out of it.
Mover::List Mover::list_in(Scope scope, const std::vector<StmtRef>& body) {
  scopes_.push_back(std::move(scope));
  List out;
  for (const StmtRef& s : body) {
    StmtRef now = moved_in(s);
    Scope& own = scopes_.back();
    for (StmtRef& store : own.pending) out.body.push_back(std::move(store));
    own.pending.clear();
    const std::set<int> written = written_in(*s);
    std::erase_if(own.kept, [&](const Kept& k) {
      return std::any_of(written.begin(), written.end(),
                         [&](int b) { return k.needs.buffers.contains(b); });
    });
    out.body.push_back(std::move(now));
  }
  scopes_.pop_back();
  return out;
}

StmtRef Mover::moved_in(const StmtRef& s) {
  if (const auto* store = as<StoreStmt>(*s)) {
    StoreStmt now = *store;
    asked_ = loads_in_any_case(store->value);
    now.value = moved(store->value, store->reduce == Reduce::kSum, false);
    return now.value.get() == store->value.get() ? s : make_stmt(std::move(now));
  }
  if (const auto* loop = as<ForStmt>(*s)) {
    if (loop->mark == Mark::kTensor) return s;
    const Poly begin = Poly::of(loop->begin, &facts_), end = Poly::of(loop->end, &facts_);
    facts_.define_loop(loop->loop, begin, end);
    Scope scope;
    scope.statement = s.get();
    scope.loop = loop;
    scope.runs = facts_.nonnegative(end - begin - 1);
    return with_body(*s, list_in(std::move(scope), s->body).body);
  }
  if (is<SequenceStmt>(*s)) {
    Scope scope;
    scope.statement = s.get();
    return with_body(*s, list_in(std::move(scope), s->body).body);
  }
  // Each branch keeps its own.
  return rewrite_children(s, [&](const StmtRef& b) { return list_in(Scope{}, {b}).make(); });
}

/// The value with its dear parts moved. A `summand` is a term of a sum, and what is `chosen` is
/// needed only where a condition says so.
Expr Mover::moved(const Expr& e, bool summand, bool chosen) {
  if (e->op == Op::kLoad || e->args.empty() || operations_of(e) < kHeavyUniform) return e;
  const bool kept_type = e->type == DType::kF32 || e->type == DType::kF64 || e->type == DType::kI32;
  if (kept_type && !(summand && is_product(e))) {
    Needs needs = needs_of(e, asked_);
    if (operations_of(e) < kHeavy && !is_uniform(needs))
      return with_moved_parts(e, summand, chosen);
    const size_t home = needs.reads_unasked && chosen ? scopes_.size() : home_of(needs);
    if (home < scopes_.size()) return keep(e, std::move(needs), scopes_[home]);
  }
  return with_moved_parts(e, summand, chosen);
}

Expr Mover::with_moved_parts(const Expr& e, bool summand, bool chosen) {
  const bool sum = e->op == Op::kAdd || e->op == Op::kSub || (summand && e->op == Op::kNeg);
  std::vector<Expr> args;
  bool changed = false;
  for (size_t i = 0; i < e->args.size(); ++i) {
    args.push_back(moved(e->args[i], sum, chosen || is_choice(e, i)));
    changed |= args.back().get() != e->args[i].get();
  }
  return changed ? with_args(e, std::move(args)) : e;
}

bool Mover::is_uniform(const Needs& needs) const {
  return std::any_of(scopes_.begin(), scopes_.end(), [&](const Scope& s) {
    return s.loop && s.loop->mark == Mark::kVector && !needs.loops.contains(s.loop->loop);
  });
}

/// The number of the outermost scope that a value of such needs may move to. scopes_.size() where
/// it cannot leave a loop that runs again.
size_t Mover::home_of(const Needs& needs) const {
  size_t home = scopes_.size();
  bool inside_vector = std::any_of(scopes_.begin(), scopes_.end(), [](const Scope& s) {
    return s.loop && s.loop->mark == Mark::kVector;
  });
  bool runs_again = false;
  for (size_t i = scopes_.size(); i-- > 1 && may_leave(scopes_[i], needs);) {
    const ForStmt* loop = scopes_[i].loop;
    if (!loop) continue;
    // Laid out loops make one straight piece of code.
    runs_again |= loop->mark != Mark::kUnroll;
    inside_vector &= loop->mark != Mark::kVector;
    if (runs_again && !inside_vector) home = i - 1;
  }
  return home;
}

bool Mover::may_leave(const Scope& scope, const Needs& needs) const {
  if (!scope.statement) return false;
  if (scope.loop && needs.loops.contains(scope.loop->loop)) return false;
  if (needs.buffers.empty()) return true;
  // What guards a load says nothing of the loops: without iterations there may be no tensor.
  if (!scope.runs) return false;
  const std::set<int> written = written_in(*scope.statement);
  return std::none_of(written.begin(), written.end(),
                      [&](int b) { return needs.buffers.contains(b); });
}

/// The load of what `scope` keeps of `e`.
Expr Mover::keep(const Expr& e, Needs needs, Scope& scope) {
  for (const Kept& k : scope.kept) {
    if (equal(k.value, e)) return k.load;
  }
  NestBuffer b;
  b.name = "once." + std::to_string(nest_.buffers.size());
  b.type = e->type;
  b.home = Home::kRegisters;
  b.elements = make_int(1);
  b.max_bytes = size_of(e->type);
  b.written = true;
  const auto id = static_cast<int>(nest_.buffers.size());
  nest_.buffers.push_back(std::move(b));
  scope.pending.push_back(make_store(id, make_int(0), e));
  Expr load = make_nest_load(nest_.buffers.back(), id, make_int(0));
  scope.kept.push_back({e, std::move(load), std::move(needs)});
  return scope.kept.back().load;
}

/// Whether some loop's value is worth looking at.
bool has_dear_values(const Nest& nest) {
  bool found = false;
  for (const Launch& l : nest.launches) {
    for_each(*l.body, [&](const Stmt& s) {
      const auto* store = as<StoreStmt>(s);
      found = found || (store && operations_of(store->value) >= kHeavyUniform);
    });
  }
  return found;
}

}  // namespace

std::optional<Nest> with_invariants_outside(const Nest& nest) {
  if (!has_dear_values(nest)) return std::nullopt;
  Nest out = nest;
  Mover mover(out);
  for (Launch& l : out.launches) mover.run(l);
  if (out.buffers.size() == nest.buffers.size()) return std::nullopt;
  return out;
}

}  // namespace hone::jit
