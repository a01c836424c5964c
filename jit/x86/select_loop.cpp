// SPDX-License-Identifier: Apache-2.0
// Loops: unrolled, serial, and vector loops cut into chunks of lanes.
#include <algorithm>
#include <bit>
#include <optional>
#include <utility>

#include "jit/x86/select_context.h"

namespace hone::jit {

namespace {

/// Chunks of a vector loop of constant extent that are emitted one by one rather than as a loop.
constexpr int64_t kMaxChunks = 16;
/// Iterations that an unrolled loop may have before it is a loop after all.
constexpr int64_t kMaxUnroll = 1024;
/// Guards by data that a vector loop branches on: each doubles its code.
constexpr size_t kMostGuards = 2;
/// More code than any schedule worth running has.
constexpr size_t kMaxInstructions = 50000;

}  // namespace

uint64_t Selector::written_by(const ir::Stmt& s) const {
  uint64_t written = 0;
  if (s.kind == ir::Stmt::kStore) written = code.written_by_store(s.id);
  for (const ir::StmtRef& child : s.body) {
    if (child) written |= written_by(*child);
  }
  return written;
}

void Selector::open(Scope::Kind kind, uint64_t written, bool certain) {
  code.open(kind, written, certain);
  loops_.resize(code.depth() + 1);
  loops_.back() = {};
  if (kind == Scope::kLoop) touch_tiles(written);
}

Scope Selector::close() {
  const int depth = code.depth();
  Scope done = code.close();
  std::erase_if(pointers_, [&](const Pointer& p) { return p.depth >= depth; });
  loops_.resize(depth);
  touch_tiles(done.written);
  return done;
}

void Selector::walk_for(const ir::Stmt& s) {
  const Affine begin = affine(s.begin);
  const Affine extent = affine(s.end) - begin;
  if (failed()) return;
  if (extent.is_constant() && extent.constant <= 0) return;
  if (s.mark == ir::Mark::kVector && lanes_.loop < 0) {
    const ir::Expr* guard = assumed_.size() < kMostGuards ? common_guard(s, s) : nullptr;
    if (guard != nullptr) return vector_by_guard(s, *guard);
    if (survey(s).lanes > 1) return vector(s, begin, extent);
  }
  if (s.mark == ir::Mark::kTensor) return dot(s, begin, extent);
  // Registers have no index: loops over them are unrolled, marked or not.
  const bool unroll = s.mark == ir::Mark::kUnroll || indexes_tile(s, s.id);
  if (extent.is_constant() && (extent.constant == 1 || unroll) && extent.constant <= kMaxUnroll) {
    Affine first;
    if (fills_groups(s, begin, extent.constant, first)) {
      return store_groups(s, begin, extent.constant, first);
    }
    return unrolled(s, begin, extent.constant);
  }
  const int64_t most = unroll ? most_iterations(s, begin, extent) : -1;
  if (most >= 0 && most <= kMaxUnroll) return guarded_unrolled(s, begin, extent, most);
  serial(s, begin, extent);
}

/// A number of iterations that the loop never exceeds; -1: none is known.
int64_t Selector::most_iterations(const ir::Stmt& s, const Affine& begin,
                                  const Affine& extent) const {
  int64_t least = 0, most = 0;
  if (range_of(extent, least, most)) return most;
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

/// True when an element of a register tile is chosen by the variable.
bool Selector::indexes_tile(const ir::Stmt& s, int variable) const {
  const auto mentions = [&](const ir::Expr& e) {
    bool found = false;
    ir::visit(e, [&](const ir::Expr& x) { found |= x->op == ir::Op::kVar && x->id == variable; });
    return found;
  };
  bool found = false;
  if (s.kind == ir::Stmt::kStore) {
    found = nest_.buffers[s.id].home == ir::Home::kRegisters && mentions(s.offset);
    ir::visit(s.value, [&](const ir::Expr& x) {
      found |= x->op == ir::Op::kLoad && nest_.buffers[x->id].home == ir::Home::kRegisters &&
               mentions(x->args[0]);
    });
  }
  for (const ir::StmtRef& child : s.body)
    found = found || (child && indexes_tile(*child, variable));
  return found;
}

void Selector::unrolled(const ir::Stmt& s, const Affine& begin, int64_t extent) {
  const Binding outer = bindings_[s.id];
  for (int64_t i = 0; i < extent && !failed(); ++i) {
    bindings_[s.id] = {true, false, begin + Affine::of(i)};
    for (const ir::StmtRef& child : s.body) walk(*child);
    if (code.size() > kMaxInstructions) refuse("unrolled loops make too much code");
  }
  bindings_[s.id] = outer;
}

void Selector::guarded_unrolled(const ir::Stmt& s, const Affine& begin, const Affine& extent,
                                int64_t most) {
  const Binding outer = bindings_[s.id];
  const Reg count = gpr(extent);
  const int done = code.lir.label();
  const uint64_t written = written_by(s);
  // Iterations nest as branches: what one computes is not known after the last.
  for (int64_t i = 0; i < most && !failed(); ++i) {
    bindings_[s.id] = {true, false, begin + Affine::of(i)};
    open(Scope::kBranch, written, false);
    ++conditions_;
    for (const ir::StmtRef& child : s.body) walk(*child);
    --conditions_;
    const Scope branch = close();
    code.splice(code.top().body, branch.pre);
    code.emit(X86::cmp, {greg(count), imm(i)});
    code.emit(Pseudo::jump_le, {imm(done)});
    code.splice(code.top().body, branch.body);
  }
  code.emit(Pseudo::label, {imm(done)});
  bindings_[s.id] = outer;
}

template <class Body>
void Selector::loop(int number, const Affine& begin, const Affine& extent, int64_t step,
                    uint64_t written, const Body& body) {
  const bool known = extent.is_constant();
  const int64_t trips = known ? extent.constant / step : 0;
  if (known && trips <= 0) return;
  int64_t shortest = 0, longest = 0;
  const bool bounded = range_of(extent, shortest, longest);
  if (bounded && longest < step) return;
  const int exit = code.lir.label();
  Reg count;
  if (!known) {
    count = gpr(extent);
    if (step > 1) {
      count =
          code.update(RegClass::kGpr, 8, count, X86::sar, {imm(std::countr_zero<uint64_t>(step))});
    }
    code.emit(X86::test, {greg(count), greg(count)});
    code.emit(Pseudo::jump_le, {imm(exit)});
  }
  open(Scope::kLoop, written, known || (bounded && shortest >= step));
  const int depth = code.depth();
  LoopState state{begin, step, {}, false, 0, 0};
  int64_t least, most;
  if (bounded && range_of(begin, least, most)) {
    state.ranged = true;
    state.min = least;
    state.max = std::max(least, most + longest - step);
  }
  loops_[depth] = state;
  const Binding outer = bindings_[number];
  bindings_[number] = {true, false, Affine::of_factor(Factor::make(Factor::kLoop, depth))};
  body();
  bindings_[number] = outer;
  if (failed()) {
    close();
    return;
  }
  const int head = code.lir.label();
  Scope& s = code.scope(depth);
  const Reg variable = loops_[depth].variable;
  if (variable.valid()) {
    code.append(s.latch, X86::add, {greg(variable), imm(step)});
  }
  if (variable.valid() && known && begin.is_constant()) {
    code.append(s.latch, X86::cmp, {greg(variable), imm(begin.constant + trips * step)});
    code.append(s.latch, Pseudo::jump_lt, {imm(head)});
  } else {
    const Reg left = code.make(RegClass::kGpr);
    code.append(s.pre, X86::mov, {greg(left), known ? imm(trips) : greg(count)});
    code.append(s.latch, X86::dec, {greg(left)});
    code.append(s.latch, Pseudo::jump_ne, {imm(head)});
  }
  const Scope done = close();
  CodeList& list = code.top().body;
  code.splice(list, done.pre);
  code.append(list, Pseudo::loop_begin, {imm(head)});
  code.splice(list, done.body);
  code.splice(list, done.latch);
  code.append(list, Pseudo::loop_end, {});
  code.append(list, Pseudo::label, {imm(exit)});
}

void Selector::serial(const ir::Stmt& s, const Affine& begin, const Affine& extent) {
  const auto run = [&] {
    loop(s.id, begin, extent, 1, written_by(s), [&] {
      for (const ir::StmtRef& child : s.body) walk(*child);
    });
  };
  if (excess_depth_ >= 0 || !keeps_excess(s)) return run();
  open(Scope::kPlain, written_by(s));
  excess_depth_ = code.depth();
  run();
  take_off_excess();
  const Scope done = close();
  code.splice(code.top().body, done.pre);
  code.splice(code.top().body, done.body);
}

void Selector::range_loop() {
  const Affine begin = Affine::of_factor(Factor::make(Factor::kReg, begin_.id));
  const Affine end = Affine::of_factor(Factor::make(Factor::kReg, end_.id));
  const Affine extent = affine(launch_.extent);
  if (launch_.range < 0 || (extent.is_constant() && extent.constant == 1)) {
    const int exit = code.lir.label();
    code.emit(X86::cmp, {greg(begin_), greg(end_)});
    code.emit(Pseudo::jump_ge, {imm(exit)});
    open(Scope::kBranch, written_by(*launch_.body));
    if (launch_.range >= 0) bindings_[launch_.range] = {true, false, Affine::of(0)};
    walk(*launch_.body);
    const Scope done = close();
    code.splice(code.top().body, done.pre);
    code.splice(code.top().body, done.body);
    code.emit(Pseudo::label, {imm(exit)});
    return;
  }
  loop(launch_.range, begin, end - begin, 1, written_by(*launch_.body), [&] {
    int64_t least, most;
    if (range_of(affine(launch_.extent), least, most)) {
      LoopState& state = loops_[code.depth()];
      state.ranged = true;
      state.min = 0;
      state.max = most - 1;
    }
    walk(*launch_.body);
  });
}

void Selector::vector(const ir::Stmt& s, const Affine& begin, const Affine& extent) {
  const Survey& needs = survey(s);
  if (!needs.sums) return vector_chunks(s, begin, extent, needs);
  // Running values of reductions start before this scope and end in it.
  open(Scope::kPlain, written_by(s));
  sums_depth_ = code.depth();
  const int outer = std::exchange(conditions_, 0);
  vector_chunks(s, begin, extent, needs);
  conditions_ = outer;
  finish_sums();
  const Scope done = close();
  code.splice(code.top().body, done.pre);
  code.splice(code.top().body, done.body);
}

void Selector::vector_chunks(const ir::Stmt& s, const Affine& begin, const Affine& extent,
                             const Survey& needs) {
  const int64_t most = extent.is_constant()    ? extent.constant
                       : indexes_tile(s, s.id) ? most_iterations(s, begin, extent)
                                               : -1;
  int lanes = needs.lanes;
  if (most < 0 || (!extent.is_constant() && most > kMaxChunks * lanes)) {
    return vector_dynamic(s, begin, extent, needs);
  }
  while (lanes / 2 >= most && lanes > 1) lanes /= 2;
  // Lanes that are off cost less than a part of a tile's register.
  if (wide()) lanes = std::max(lanes, std::min(needs.lanes, lanes_of_tiles(s)));
  if (extent.is_constant()) return vector_constant(s, begin, most, lanes);
  vector_bounded(s, begin, extent, most, lanes, needs.unmaskable);
}

/// Runs `body` as code that a branch around it may skip.
template <class Body>
void Selector::branch(uint64_t written, const Body& body) {
  open(Scope::kBranch, written, false);
  body();
  const Scope done = close();
  code.splice(code.top().body, done.pre);
  code.splice(code.top().body, done.body);
}

/// The lanes of the registers that tiles along the loop have by now; 0: none, or they differ.
int Selector::lanes_of_tiles(const ir::Stmt& s) const {
  int lanes = 0;
  for (const int buffer : tiles_along(s)) {
    for (const TileGroup& g : tiles_[static_cast<size_t>(buffer)].groups) {
      if (lanes != 0 && g.lanes != lanes) return 0;
      lanes = g.lanes;
    }
  }
  return lanes;
}

/// A loop over elements of a register tile that may end before the tile does: whole where it does
/// not, else chunk by chunk as far as it goes.
void Selector::vector_bounded(const ir::Stmt& s, const Affine& begin, const Affine& extent,
                              int64_t most, int lanes, bool unmaskable) {
  const uint64_t written = written_by(s);
  const int part = code.lir.label(), done = code.lir.label();
  const Reg count = gpr(extent);
  code.emit(X86::cmp, {greg(count), imm(most)});
  code.emit(Pseudo::jump_lt, {imm(part)});
  branch(written, [&] { vector_constant(s, begin, most, lanes); });
  code.emit(Pseudo::jump, {imm(done)});
  code.emit(Pseudo::label, {imm(part)});
  branch(written, [&] {
    if (!wide() || unmaskable) return guarded_unrolled(s, begin, extent, most);
    for (int64_t at = 0; at < most && !failed(); at += lanes) {
      code.emit(X86::cmp, {greg(count), imm(at)});
      code.emit(Pseudo::jump_le, {imm(done)});
      const Affine left = Affine::of_factor(Factor::make(Factor::kReg, count.id)) - Affine::of(at);
      branch(written, [&] {
        const Reg active = at_most(left, lanes);
        masked_chunk(s, begin + Affine::of(at), active, lanes);
      });
    }
  });
  code.emit(Pseudo::label, {imm(done)});
}

void Selector::chunk(const ir::Stmt& s, const Affine& base, int lanes, int active) {
  const Lanes outer_lanes = lanes_;
  const Binding outer = bindings_[s.id];
  lanes_ = {};
  lanes_.loop = s.id;
  lanes_.count = lanes;
  lanes_.active = active;
  bindings_[s.id] = {true, true, base};
  for (const ir::StmtRef& child : s.body) walk(*child);
  bindings_[s.id] = outer;
  lanes_ = outer_lanes;
}

void Selector::vector_constant(const ir::Stmt& s, const Affine& begin, int64_t extent, int lanes) {
  const int64_t whole = extent / lanes;
  if (whole <= kMaxChunks) {
    for (int64_t c = 0; c < whole && !failed(); ++c) {
      chunk(s, begin + Affine::of(c * lanes), lanes, lanes);
    }
  } else {
    loop(s.id, begin, Affine::of(whole * lanes), lanes, written_by(s),
         [&] { chunk(s, bindings_[s.id].base, lanes, lanes); });
  }
  int64_t done = whole * lanes;
  if (wide()) {
    if (done < extent && !failed()) {
      chunk(s, begin + Affine::of(done), lanes, static_cast<int>(extent - done));
    }
    return;
  }
  while (done < extent && !failed()) {
    const int64_t left = extent - done;
    while (lanes > left) lanes /= 2;
    chunk(s, begin + Affine::of(done), lanes, lanes);
    done += lanes;
  }
}

void Selector::vector_dynamic(const ir::Stmt& s, const Affine& begin, const Affine& extent,
                              const Survey& needs) {
  const int lanes = needs.lanes;
  const uint64_t written = written_by(s);
  loop(s.id, begin, extent, lanes, written, [&] { chunk(s, bindings_[s.id].base, lanes, lanes); });
  if (failed()) return;
  // The rest: fewer than a vector.
  const Reg count = gpr(extent);
  const Reg rest = code.update(RegClass::kGpr, 8, count, X86::and_, {imm(lanes - 1)});
  const Affine left = Affine::of_factor(Factor::make(Factor::kReg, rest.id));
  const Affine done = begin + extent - left;
  if (wide() && !needs.scattered) return masked_rest(s, done, count, rest, lanes);
  // Nothing is left of an empty range, whatever its negative length says.
  const int exit = code.lir.label();
  code.emit(X86::test, {greg(count), greg(count)});
  code.emit(Pseudo::jump_le, {imm(exit)});
  branch(written, [&] {
    loop(s.id, done, left, 1, written, [&] {
      for (const ir::StmtRef& child : s.body) walk(*child);
    });
  });
  code.emit(Pseudo::label, {imm(exit)});
}

/// AVX-512: the last `rest` iterations under a mask.
void Selector::masked_rest(const ir::Stmt& s, const Affine& done, Reg count, Reg rest, int lanes) {
  const int exit = code.lir.label();
  code.emit(X86::test, {greg(count), greg(count)});
  code.emit(Pseudo::jump_le, {imm(exit)});
  code.emit(X86::test, {greg(rest), greg(rest)});
  code.emit(Pseudo::jump_eq, {imm(exit)});
  branch(written_by(s), [&] { masked_chunk(s, done, rest, lanes); });
  code.emit(Pseudo::label, {imm(exit)});
}

/// The first `active` of `lanes` iterations from `base` on.
void Selector::masked_chunk(const ir::Stmt& s, const Affine& base, Reg active, int lanes) {
  const Lanes outer = lanes_;
  const Binding outer_binding = bindings_[s.id];
  lanes_ = {};
  lanes_.loop = s.id;
  lanes_.count = lanes;
  lanes_.active = -1;
  lanes_.active_reg = active;
  bindings_[s.id] = {true, true, base};
  for (const ir::StmtRef& child : s.body) walk(*child);
  bindings_[s.id] = outer_binding;
  lanes_ = outer;
}

}  // namespace hone::jit
