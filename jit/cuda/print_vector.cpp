// SPDX-License-Identifier: Apache-2.0
// Vector loops: what lanes access side by side, as accesses of up to 16 bytes.
//   vector v in 0..4: Y[4*i + v] = f(X[4*i + v])
//     =>  loaded = load_vector(X + 4*i); for v: stored[v] = f(loaded[v]); store_vector(Y + 4*i)
#include "jit/cuda/print_vector.h"

#include <fmt/format.h>

namespace hone::jit {

using namespace ir;

namespace {

/// VectorLanes whose values a thread has in registers at a time.
/// Chosen: what a thread's registers hold with room to spare (not measured).
constexpr int64_t kMostLanes = 16;

}  // namespace

void VectorPrinter::emit_vector(const ForStmt& s, ThreadScope& scope) {
  const Poly begin = Poly::of(s.begin, &n_.facts);
  const Poly extent = Poly::of(s.end, &n_.facts) - begin;
  const auto most = n_.facts.upper(extent);
  const VectorLanes lanes{s.loop, s.begin, most ? *most : 0};
  if (lanes.count < 2 || lanes.count > kMostLanes || collective(s) ||
      !lane_access_.any_wide(s, lanes)) {
    return emit_serial(s, scope);
  }
  note(s.begin);
  note(s.end);
  conditional(scope, [&] {
    ThreadScope inside = without_conditions(scope);
    const bool whole = extent == Poly(lanes.count);
    if (!whole) {
      open(fmt::format("if ({} == {}) {{", print_index(extent.expr(), n_), lanes.count));
    }
    for (const StmtRef& b : s.body) emit_lanes(*b, lanes, inside);
    if (whole) return;
    close();
    open("else {");
    emit_serial(s, inside);
    close();
  });
}

/// A part of a vector loop's body, for all lanes at once.
void VectorPrinter::emit_lanes(const Stmt& s, const VectorLanes& lanes, ThreadScope& scope) {
  const auto same = [&](const Expr& e) {
    return !Poly::of(e, &n_.facts).mentions_loop(lanes.loop);
  };
  const auto* loop = as<ForStmt>(s);
  const auto* choice = as<IfStmt>(s);
  const auto* store = as<StoreStmt>(s);
  if (is<SequenceStmt>(s)) {
    for (const StmtRef& b : s.body) emit_lanes(*b, lanes, scope);
  } else if (loop && !is_thread(loop->mark) && same(loop->begin) && same(loop->end)) {
    const int levels = open_loop(*loop);
    for (const StmtRef& b : s.body) emit_lanes(*b, lanes, scope);
    for (int i = 0; i < levels; ++i) close();
  } else if (choice && is_uniform(choice->condition, lanes, n_.facts)) {
    const Expr condition = in_first_lane(choice->condition, lanes);
    note(condition);
    open("if (" + print_condition(condition, n_) + ") {");
    emit_lanes(choice->then(), lanes, scope);
    if (choice->otherwise()) {
      close();
      open("else {");
      emit_lanes(*choice->otherwise(), lanes, scope);
    }
    close();
  } else if (store && lane_access_.any_wide(s, lanes)) {
    guarded(scope, s, [&] { emit_lane_store(*store, lanes); });
  } else {
    lane_access_.emit_each_lane(lanes, [&] { emit(s, scope); });
  }
}

void VectorPrinter::emit_lane_store(const StoreStmt& s, const VectorLanes& lanes) {
  if (copies_.emit_copies(s, &lanes)) return;
  const int64_t wide = lane_access_.width(s.buffer, s.offset, lanes);
  lane_access_.hold_loads(s.value, lanes);
  if (wide == 1) {
    lane_access_.emit_each_lane(lanes, [&] { emit_store(s); });
    n_.held.clear();
    return;
  }
  const NestBuffer& b = nest_.buffers[static_cast<size_t>(s.buffer)];
  const std::string out = "stored_" + std::to_string(++vectors_);
  line(fmt::format("Vector<{}, {}> {};", stored_type(b.type), lanes.count, out));
  lane_access_.emit_lane_values(s, lanes, out);
  rely_on(s.buffer, wide * size_of(b.type));
  line(fmt::format("{}({}, {});", lane_access_.store_of(s, wide),
                   lane_access_.print_address(s.buffer, s.offset, lanes), out));
  n_.held.clear();
}

}  // namespace hone::jit
