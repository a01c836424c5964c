// SPDX-License-Identifier: Apache-2.0
#include "jit/x86/select/loops.h"

#include <algorithm>
#include <bit>
#include <optional>

#include "jit/ir/visit.h"

namespace hone::jit {

using ir::Op;

namespace {

/// More code than any schedule worth running has.
/// Chosen: far beyond an instruction cache (not measured).
constexpr size_t kMaxInstructions = 50000;

}  // namespace

void Loops::loop(int number, const Affine& begin, const Affine& extent, int64_t step,
                 uint64_t written, const std::function<void()>& body) {
  const bool known = extent.is_constant();
  const int64_t trips = known ? extent.constant / step : 0;
  if (known && trips <= 0) return;
  int64_t shortest = 0, longest = 0;
  const bool bounded = indices_.range_of(extent, shortest, longest);
  if (bounded && longest < step) return;
  const int exit = code_.lir.label();
  Reg count;
  if (!known) {
    count = indices_.gpr(extent);
    if (step > 1) {
      count =
          code_.update(RegClass::kGpr, 8, count, X86::sar, {imm(std::countr_zero<uint64_t>(step))});
    }
    code_.emit(X86::test, {greg(count), greg(count)});
    code_.emit(Pseudo::jump_le, {imm(exit)});
  }
  open(Scope::kLoop, written, known || (bounded && shortest >= step));
  const int depth = code_.depth();
  LoopState state{begin, step, {}, false, 0, 0};
  int64_t least, most;
  if (bounded && indices_.range_of(begin, least, most)) {
    state.ranged = true;
    state.min = least;
    state.max = std::max(least, most + longest - step);
  }
  indices_.loop(depth) = state;
  const Binding outer = bindings_[number];
  bindings_[number] = {true, 0, Affine::of_factor(Factor::make(Factor::kLoop, depth))};
  body();
  bindings_[number] = outer;
  const int head = code_.lir.label();
  Scope& s = code_.scope(depth);
  const Reg variable = indices_.loop(depth).variable;
  if (variable.valid()) {
    code_.append(s.latch, X86::add, {greg(variable), imm(step)});
  }
  if (variable.valid() && known && begin.is_constant()) {
    code_.append(s.latch, X86::cmp, {greg(variable), imm(begin.constant + trips * step)});
    code_.append(s.latch, Pseudo::jump_lt, {imm(head)});
  } else {
    const Reg left = code_.make(RegClass::kGpr);
    code_.append(s.pre, X86::mov, {greg(left), known ? imm(trips) : greg(count)});
    code_.append(s.latch, X86::dec, {greg(left)});
    code_.append(s.latch, Pseudo::jump_ne, {imm(head)});
  }
  const Scope done = close();
  CodeList& list = code_.top().body;
  code_.splice(list, done.pre);
  code_.append(list, Pseudo::loop_begin, {imm(head)});
  code_.splice(list, done.body);
  code_.splice(list, done.latch);
  code_.append(list, Pseudo::loop_end, {});
  code_.append(list, Pseudo::label, {imm(exit)});
}

void Loops::unrolled(const ir::ForStmt& s, const Affine& begin, int64_t extent) {
  const Binding outer = bindings_[s.loop];
  for (int64_t i = 0; i < extent; ++i) {
    bindings_[s.loop] = {true, 0, begin + Affine::of(i)};
    walk_body(s);
    if (code_.size() > kMaxInstructions) refuse("unrolled loops make too much code");
  }
  bindings_[s.loop] = outer;
}

void Loops::guarded_unrolled(const ir::ForStmt& s, const Affine& begin, const Affine& extent,
                             int64_t most) {
  const Binding outer = bindings_[s.loop];
  const Reg count = indices_.gpr(extent);
  const int done = code_.lir.label();
  const uint64_t written = written_by(s);
  // Iterations nest as branches: what one computes is not known after the last.
  for (int64_t i = 0; i < most; ++i) {
    bindings_[s.loop] = {true, 0, begin + Affine::of(i)};
    open(Scope::kBranch, written, false);
    sums_.in_branch([&] { walk_body(s); });
    const Scope branch = close();
    code_.splice(code_.top().body, branch.pre);
    code_.emit(X86::cmp, {greg(count), imm(i)});
    code_.emit(Pseudo::jump_le, {imm(done)});
    code_.splice(code_.top().body, branch.body);
  }
  code_.emit(Pseudo::label, {imm(done)});
  bindings_[s.loop] = outer;
}

int64_t Loops::most_iterations(const ir::ForStmt& s, const Affine& begin,
                               const Affine& extent) const {
  int64_t least = 0, most = 0;
  if (indices_.range_of(extent, least, most)) return most;
  // Where a loop ends is often the lesser of what there is and what is left.
  const auto bound = [](const auto& self, const ir::Expr& e) -> std::optional<int64_t> {
    if (e->op == ir::Op::kInt) return e->i;
    if (e->op != ir::Op::kMin) return std::nullopt;
    const auto a = self(self, e->args[0]), b = self(self, e->args[1]);
    return a && b ? std::min(*a, *b) : a ? a : b;
  };
  const auto end = bound(bound, s.end);
  return begin.is_constant() && end ? std::max<int64_t>(0, *end - begin.constant) : -1;
}

bool Loops::indexes_tile(const ir::Stmt& s, int variable) const {
  const auto mentions = [&](const ir::Expr& e) { return ir::mentions_loop(e, variable); };
  return ir::any_of(s, [&](const ir::Stmt& inside) {
    const auto* store = ir::as<ir::StoreStmt>(inside);
    if (store == nullptr) return false;
    bool found =
        nest_.buffers[store->buffer].home == ir::Home::kRegisters && mentions(store->offset);
    ir::visit(store->value, [&](const ir::Expr& x) {
      found |= x->op == ir::Op::kLoad && nest_.buffers[x->id].home == ir::Home::kRegisters &&
               mentions(x->args[0]);
    });
    return found;
  });
}

}  // namespace hone::jit
