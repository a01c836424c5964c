// SPDX-License-Identifier: Apache-2.0
#include "jit/x86/select/selector.h"

#include <limits>

#include "jit/ir/poly.h"
#include "jit/ir/visit.h"
#include "jit/x86/select/expressions.h"
#include "jit/x86/select/fold.h"

namespace hone::jit {

using ir::Op;
using ir::Stmt;

namespace {

/// Iterations that an unrolled loop may have before it is a loop after all.
/// Chosen: code that a compile may take (not measured).
constexpr int64_t kMaxUnroll = 1024;
/// Guards by data that a vector loop branches on: each doubles its code.
/// Chosen: four times the code at most (not measured).
constexpr size_t kMostGuards = 2;

/// True where `s` may not run: its loads may then lie outside of their tensors.
bool may_be_skipped(const ir::Stmt& s) {
  if (ir::is<ir::IfStmt>(s)) return true;
  const auto* loop = ir::as<ir::ForStmt>(s);
  if (loop == nullptr) return false;
  const auto trips = (ir::Poly::of(loop->end) - ir::Poly::of(loop->begin)).value();
  return !trips || *trips < 1;
}

}  // namespace

void Selector::run() {
  open(Scope::kFunction, 0);
  prologue();
  const int exit = code_.lir.label();
  const Reg status =
      code_.define(RegClass::kGpr, 8, X86::mov, {mem(argument(ir::ArgsLayout::kStatus))});
  const Reg fine = constant_gpr(std::numeric_limits<int64_t>::max());
  Mem m;
  m.base = status;
  code_.emit(X86::cmp, {mem(m), greg(fine)});
  code_.emit(Pseudo::jump_ne, {imm(exit)});
  const auto version = [&](bool streaming) {
    streams_.stream(streaming);
    // What is computed here is known here only.
    inside(Scope::kPlain, 0, false, [&] {
      if (context_.launch.before) walk(*context_.launch.before);
      range_loop();
    });
  };
  const uint64_t streams = streams_.streamed_by(*context_.launch.body);
  if (streams != 0) {
    // Non-temporal stores need aligned tensors, which only the call knows.
    const int unaligned = code_.lir.label();
    streams_.branch_unless_aligned(streams, unaligned);
    version(true);
    code_.emit(X86::sfence, {});
    code_.emit(Pseudo::jump, {imm(exit)});
    code_.emit(Pseudo::label, {imm(unaligned)});
  }
  version(false);
  code_.emit(Pseudo::label, {imm(exit)});
  code_.emit(Pseudo::ret, {});
  const Scope function = close();
  code_.finish(function.body);
  fold_loads(code_.lir, wide());
}

void Selector::prologue() {
  for (Reg* reg : {&context_.args, &context_.begin, &context_.end, &context_.scratch})
    *reg = code_.make(RegClass::kGpr);
  code_.lir.entry = {context_.args, context_.begin, context_.end, context_.scratch};
}

void Selector::walk(const Stmt& s) {
  ir::visit(s, ir::Overloaded{
                   [&](const ir::SequenceStmt& all) { walk_body(all); },
                   [&](const ir::ForStmt& loop) { walk_for(loop); },
                   [&](const ir::IfStmt& choice) { walk_if(choice); },
                   [&](const ir::StoreStmt& store) { stores_.store(store); },
                   [&](const ir::PrefetchStmt& prefetch) { loads_.prefetch(prefetch); },
                   [&](const ir::CheckStmt& c) { check(c); },
                   [&](const ir::GpuStmt&) { refuse("the threads of a block are a GPU's"); },
               });
}

void Selector::walk_for(const ir::ForStmt& s) {
  const Affine begin = indices_.affine(s.begin);
  const Affine extent = indices_.affine(s.end) - begin;
  if (extent.is_constant() && extent.constant <= 0) return;
  if (s.mark == ir::Mark::kVector && lanes_.loop < 0) {
    const ir::Expr* guard = conditions_.assumptions() < kMostGuards ? common_guard(s, s) : nullptr;
    if (guard != nullptr) return vector_by_guard(s, extent, *guard);
    if (surveys_.of(s).lanes > 1) return vectorizer_.run(s, begin, extent);
  }
  if (s.mark == ir::Mark::kTensor) return dot(s, begin, extent);
  // Registers have no index: loops over them are unrolled, marked or not.
  const bool unroll = s.mark == ir::Mark::kUnroll || loops_.indexes_tile(s, s.loop);
  if (extent.is_constant() && (extent.constant == 1 || unroll) && extent.constant <= kMaxUnroll) {
    Affine first;
    if (groups_.fills(s, begin, extent.constant, first)) {
      return groups_.store(s, begin, extent.constant, first);
    }
    return loops_.unrolled(s, begin, extent.constant);
  }
  const int64_t most = unroll ? loops_.most_iterations(s, begin, extent) : -1;
  if (most >= 0 && most <= kMaxUnroll) return loops_.guarded_unrolled(s, begin, extent, most);
  serial(s, begin, extent);
}

void Selector::walk_if(const ir::IfStmt& s) {
  const Stmt* otherwise = s.otherwise();
  bool holds = false;
  if (conditions_.decided(s.condition, holds)) {
    if (holds) walk(s.then());
    if (!holds && otherwise) walk(*otherwise);
    return;
  }
  if (indices_.depends_on_lane(s.condition)) return walk_lane_if(s);
  const int no = code_.lir.label();
  const int done = code_.lir.label();
  const uint64_t written = written_by(s);
  integers_.branch_unless(s.condition, no);
  const auto side = [&](const Stmt& body) {
    branch(written, [&] { sums_.in_branch([&] { walk(body); }); });
  };
  side(s.then());
  if (otherwise) code_.emit(Pseudo::jump, {imm(done)});
  code_.emit(Pseudo::label, {imm(no)});
  if (otherwise) {
    side(*otherwise);
    code_.emit(Pseudo::label, {imm(done)});
  }
}

void Selector::walk_lane_if(const ir::IfStmt& s) {
  if (!wide()) refuse("a branch that differs between lanes needs AVX-512");
  const Value taken = value(s.condition);
  const Reg outer = lanes_.condition;
  const auto side = [&](const Value& mask, const Stmt& body) {
    lanes_.condition =
        outer.valid() ? masks_.logic(Op::kAnd, {outer, DType::kBool, 0}, mask).reg : mask.reg;
    walk(body);
    lanes_.condition = outer;
  };
  side(taken, s.then());
  if (s.otherwise() != nullptr) side(masks_.negated(taken), *s.otherwise());
}

void Selector::check(const ir::CheckStmt& s) {
  bool holds = false;
  if (conditions_.decided(s.condition, holds) && holds) return;
  if (lanes_.loop >= 0) return check_lanes(s);
  const int bad = code_.lir.label(), fine = code_.lir.label();
  integers_.branch_unless(s.condition, bad);
  code_.emit(Pseudo::jump, {imm(fine)});
  code_.emit(Pseudo::label, {imm(bad)});
  branch(0, [&] { report(indices_.affine(s.position), fine); });
  code_.emit(Pseudo::label, {imm(fine)});
}

void Selector::check_lanes(const ir::CheckStmt& s) {
  const int32_t lane = Factor::make(Factor::kLane, 0);
  const int fine = code_.lir.label();
  Affine position;
  const bool known = indices_.lane_index(s.position, position);
  const Affine step = position.coefficient_of(lane);
  if (!known || !step.is_constant() || step.constant < 0) {
    refuse("a check whose positions do not go up from lane to lane");
  }
  const Reg first = masks_.first_lane(masks_.negated(value(s.condition)), fine);
  branch(0, [&] {
    const Affine lanes_before = Affine::of_factor(Factor::make(Factor::kReg, first.id));
    report(position.without(lane) + scaled(lanes_before, step.constant), fine);
  });
  code_.emit(Pseudo::label, {imm(fine)});
}

void Selector::report(const Affine& position, int done) {
  const Reg at = indices_.gpr(position);
  const Reg status =
      code_.define(RegClass::kGpr, 8, X86::mov, {mem(argument(ir::ArgsLayout::kStatus))});
  Mem m;
  m.base = status;
  code_.emit(X86::cmp, {mem(m), greg(at)});
  code_.emit(Pseudo::jump_le, {imm(done)});
  code_.emit(X86::mov, {mem(m), greg(at)});
}

void Selector::vector_by_guard(const ir::ForStmt& s, const Affine& extent, const ir::Expr& guard) {
  const int no = code_.lir.label(), done = code_.lir.label();
  const uint64_t written = written_by(s);
  const auto side = [&](bool holds) {
    branch(written, [&] { conditions_.assuming(guard, holds, [&] { walk_for(s); }); });
  };
  const auto sides = [&] {
    integers_.branch_unless(guard, no);
    side(true);
    code_.emit(Pseudo::jump, {imm(done)});
    code_.emit(Pseudo::label, {imm(no)});
    side(false);
  };
  int64_t least = 0, most = 0;
  if (indices_.range_of(extent, least, most) && least > 0) {
    sides();
  } else {
    // The guard may load what is there only if the loop runs.
    const Reg trips = indices_.gpr(extent);
    code_.emit(X86::test, {greg(trips), greg(trips)});
    code_.emit(Pseudo::jump_le, {imm(done)});
    branch(written, sides);
  }
  code_.emit(Pseudo::label, {imm(done)});
}

const ir::Expr* Selector::common_guard(const Stmt& s, const Stmt& loop) {
  const ir::Expr* found = nullptr;
  if (const auto* store = ir::as<ir::StoreStmt>(s)) {
    ir::visit(store->value, [&](const ir::Expr& e) {
      if (found != nullptr || e->op != Op::kLoad || !e->guarded) return;
      bool holds = false, common = ir::mentions_load(e->args[1]);
      const uint64_t written = common ? written_by(loop) : 0;
      ir::visit(e->args[1], [&](const ir::Expr& x) {
        if (x->op == Op::kLoad) common = common && !(written & CodeWriter::buffer_bit(x->id));
        if (x->op == Op::kVar) common = common && bindings_[x->id].bound;
      });
      // What depends on the lanes has no value out here.
      if (common && !conditions_.decided(e->args[1], holds)) found = &e->args[1];
    });
  }
  for (const ir::StmtRef& child : s.body) {
    if (found != nullptr || !child || may_be_skipped(*child)) continue;
    found = common_guard(*child, loop);
  }
  return found;
}

void Selector::serial(const ir::ForStmt& s, const Affine& begin, const Affine& extent) {
  const auto run = [&] {
    loops_.loop(s.loop, begin, extent, 1, written_by(s), [&] { walk_body(s); });
  };
  if (!excess_.may_keep(s)) return run();
  inside(Scope::kPlain, written_by(s), true, [&] {
    excess_.begin();
    run();
    excess_.take_off();
  });
}

void Selector::dot(const ir::ForStmt& s, const Affine& begin, const Affine& extent) {
  const ir::StoreStmt* store = dots_.accepted(s, extent);
  if (store == nullptr) return;
  // Without masks for bytes the rest of a group is done element by element.
  const bool maskless = extent.constant < s.instruction->group && !wide();
  if (maskless || !Dots::takes(*store)) return loops_.unrolled(s, begin, extent.constant);
  dots_.enter(s, begin, static_cast<int>(extent.constant));
  const Binding outer = bindings_[s.loop];
  bindings_[s.loop] = {true, 0, begin};
  walk(*store);
  bindings_[s.loop] = outer;
  dots_.leave();
}

void Selector::range_loop() {
  const Affine begin = Affine::of_factor(Factor::make(Factor::kReg, context_.begin.id));
  const Affine end = Affine::of_factor(Factor::make(Factor::kReg, context_.end.id));
  const Affine extent = indices_.affine(context_.launch.extent);
  if (context_.launch.range < 0 || (extent.is_constant() && extent.constant == 1)) {
    const int exit = code_.lir.label();
    code_.emit(X86::cmp, {greg(context_.begin), greg(context_.end)});
    code_.emit(Pseudo::jump_ge, {imm(exit)});
    inside(Scope::kBranch, written_by(*context_.launch.body), true, [&] {
      if (context_.launch.range >= 0) bindings_[context_.launch.range] = {true, 0, Affine::of(0)};
      walk(*context_.launch.body);
    });
    code_.emit(Pseudo::label, {imm(exit)});
    return;
  }
  loops_.loop(context_.launch.range, begin, end - begin, 1, written_by(*context_.launch.body), [&] {
    int64_t least, most;
    if (indices_.range_of(indices_.affine(context_.launch.extent), least, most)) {
      LoopState& state = indices_.loop(code_.depth());
      state.ranged = true;
      state.min = 0;
      state.max = most - 1;
    }
    walk(*context_.launch.body);
  });
}

}  // namespace hone::jit
