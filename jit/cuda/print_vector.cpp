// SPDX-License-Identifier: Apache-2.0
// Vector loops: what lanes access side by side, as accesses of up to 16 bytes.
//   vector v in 0..4: Y[4*i + v] = f(X[4*i + v])
//     =>  loaded = load_vector(X + 4*i); for v: stored[v] = f(loaded[v]); store_vector(Y + 4*i)
#include <fmt/format.h>

#include "jit/cuda/print_launch.h"

namespace hone::jit {

using namespace ir;

namespace {

/// VectorLanes whose values a thread has in registers at a time.
constexpr int64_t kMostLanes = 16;

}  // namespace

/// Memory that is accessed in words, unlike a thread's own registers.
bool LaunchPrinter::in_memory(int buffer) const {
  const Home home = nest_.buffers[static_cast<size_t>(buffer)].home;
  return home == Home::kArgument || home == Home::kBound || home == Home::kShared ||
         home == Home::kTeam;
}

int64_t LaunchPrinter::width(int buffer, const Expr& offset, const VectorLanes& lanes) const {
  if (!in_memory(buffer)) return 1;
  return access_width(nest_.buffers[static_cast<size_t>(buffer)], offset, lanes, n_.facts);
}

/// Whether any access inside `s` takes several lanes at once.
bool LaunchPrinter::any_wide(const Stmt& s, const VectorLanes& lanes) const {
  bool found = false;
  each_stmt(s, [&](const Stmt& x) {
    if (x.kind != Stmt::kStore) return;
    found |= width(x.id, x.offset, lanes) > 1;
    visit(x.value, [&](const Expr& e) {
      found |= e->op == Op::kLoad && width(e->id, e->args[0], lanes) > 1;
    });
  });
  return found;
}

/// What stores `wide` elements at a time.
std::string LaunchPrinter::store_of(const Stmt& s, int64_t wide) const {
  const bool global = nest_.buffers[static_cast<size_t>(s.id)].home != Home::kTeam;
  if (!global || forms_.plain_stores) return fmt::format("store_vector<{}>", wide);
  int stores = 0, loads = 0;
  const auto count = [&](const Expr& e) {
    if (!e) return;
    visit(e, [&](const Expr& x) { loads += x->op == Op::kLoad && x->id == s.id ? 1 : 0; });
  };
  each_stmt(*launch_.body, [&](const Stmt& x) {
    for (const Expr* e : {&x.begin, &x.end, &x.condition, &x.offset, &x.value}) count(*e);
    if (x.kind != Stmt::kStore || x.id != s.id) return;
    ++stores;
    loads += x.reduce != Reduce::kNone ? 1 : 0;
  });
  return fmt::format("store_global<{}, {}>", wide, stores == 1 && loads == 0);
}

void LaunchPrinter::emit_vector(const Stmt& s, Scope& scope) {
  const Poly begin = Poly::of(s.begin, &n_.facts);
  const Poly extent = Poly::of(s.end, &n_.facts) - begin;
  const auto most = n_.facts.upper(extent);
  const VectorLanes lanes{s.id, s.begin, most ? *most : 0};
  if (lanes.count < 2 || lanes.count > kMostLanes || collective(s) || !any_wide(s, lanes)) {
    return emit_serial(s, scope);
  }
  note(s.begin);
  note(s.end);
  conditional(scope, [&] {
    Scope inside = without_conditions(scope);
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
void LaunchPrinter::emit_lanes(const Stmt& s, const VectorLanes& lanes, Scope& scope) {
  const auto same = [&](const Expr& e) {
    return !Poly::of(e, &n_.facts).mentions_loop(lanes.loop);
  };
  if (s.kind == Stmt::kBlock) {
    for (const StmtRef& b : s.body) emit_lanes(*b, lanes, scope);
  } else if (s.kind == Stmt::kFor && !is_thread(s.mark) && same(s.begin) && same(s.end)) {
    const int levels = open_loop(s);
    for (const StmtRef& b : s.body) emit_lanes(*b, lanes, scope);
    for (int i = 0; i < levels; ++i) close();
  } else if (s.kind == Stmt::kIf && is_uniform(s.condition, lanes, n_.facts)) {
    const Expr condition = in_first_lane(s.condition, lanes);
    note(condition);
    open("if (" + print_condition(condition, n_) + ") {");
    emit_lanes(*s.body[0], lanes, scope);
    if (s.body.size() > 1) {
      close();
      open("else {");
      emit_lanes(*s.body[1], lanes, scope);
    }
    close();
  } else if (s.kind == Stmt::kStore && any_wide(s, lanes)) {
    guarded(scope, s, [&] { emit_lane_store(s, lanes); });
  } else {
    emit_each_lane(lanes, [&] { emit(s, scope); });
  }
}

/// `f` for one lane after the other.
void LaunchPrinter::emit_each_lane(const VectorLanes& lanes, const Print& f) {
  line("#pragma unroll");
  open(fmt::format("for ({0} {1} = {2}; {1} < {3}; ++{1}) {{", n_.index_type(), loop(lanes.loop),
                   print_index(lanes.begin, n_),
                   print_index(lanes.begin + make_int(lanes.count), n_)));
  f();
  close();
}

void LaunchPrinter::emit_lane_store(const Stmt& s, const VectorLanes& lanes) {
  if (emit_copies(s, &lanes)) return;
  const int64_t wide = width(s.id, s.offset, lanes);
  hold_loads(s.value, lanes);
  if (wide == 1) {
    emit_each_lane(lanes, [&] { emit_leaf(s); });
    n_.held.clear();
    return;
  }
  const NestBuffer& b = nest_.buffers[static_cast<size_t>(s.id)];
  const std::string out = "stored_" + std::to_string(++vectors_);
  line(fmt::format("Vector<{}, {}> {};", stored_type(b.type), lanes.count, out));
  emit_lane_values(s, lanes, out);
  rely_on(s.id, wide * size_of(b.type));
  line(fmt::format("{}({}, {});", store_of(s, wide), print_address(s.id, s.offset, lanes), out));
  n_.held.clear();
}

/// What the lanes store, into the vector `out`.
void LaunchPrinter::emit_lane_values(const Stmt& s, const VectorLanes& lanes,
                                     const std::string& out) {
  const NestBuffer& b = nest_.buffers[static_cast<size_t>(s.id)];
  note(s.offset);
  note(s.value);
  used_.insert(s.id);
  written_.insert(&b);
  const int64_t wide = width(s.id, s.offset, lanes);
  const std::string before =
      s.reduce == Reduce::kNone ? "" : loaded(s.id, s.offset, wide, lanes, "");
  emit_each_lane(lanes, [&] {
    if (s.reduce == Reduce::kNone && s.value->type == b.type) {
      return line(in_lane(out, lanes) + " = " + print_stored(s.value, n_) + ";");
    }
    std::string value = print_value(s.value, n_);
    if (s.reduce != Reduce::kNone) {
      value = fmt::format("{}::of({}, {})", combiner(s.reduce),
                          from_stored(b.type, in_lane(before, lanes)), value);
    }
    line(in_lane(out, lanes) + " = " + to_stored(b.type, value) + ";");
  });
}

/// The lane's part of a vector.
std::string LaunchPrinter::in_lane(const std::string& vector, const VectorLanes& lanes) const {
  const Poly lane =
      Poly::atom(make_var(loop(lanes.loop), lanes.loop)) - Poly::of(lanes.begin, &n_.facts);
  return vector + ".v[" + print_index(lane.expr(), n_) + "]";
}

/// Where lane 0 accesses the buffer.
std::string LaunchPrinter::print_address(int buffer, const Expr& offset,
                                         const VectorLanes& lanes) const {
  return fmt::format("HONE_AT({}, {})", n_.buffers[static_cast<size_t>(buffer)],
                     print_element(buffer, in_first_lane(offset, lanes), n_));
}

/// Loads what the lanes of `value` load side by side, before all else.
void LaunchPrinter::hold_loads(const Expr& value, const VectorLanes& lanes) {
  visit(value, [&](const Expr& e) {
    if (e->op != Op::kLoad || (e->guarded && !is_uniform(e->args[1], lanes, n_.facts))) return;
    const int64_t wide = width(e->id, e->args[0], lanes);
    if (wide == 1) return;
    for (const HeldLoad& h : n_.held) {
      if (equal(h.load, e)) return;
    }
    note(e);
    std::string inside;
    if (e->guarded) {
      inside = "inside_" + std::to_string(++vectors_);
      line("const bool " + inside + " = " + print_condition(in_first_lane(e->args[1], lanes), n_) +
           ";");
    }
    const std::string name = loaded(e->id, e->args[0], wide, lanes, inside);
    n_.held.push_back({e, in_lane(name, lanes), inside});
  });
}

/// The name of a vector of what lanes load; nothing is accessed where `inside` does not hold.
std::string LaunchPrinter::loaded(int buffer, const Expr& offset, int64_t wide,
                                  const VectorLanes& lanes, const std::string& inside) {
  const NestBuffer& b = nest_.buffers[static_cast<size_t>(buffer)];
  const std::string name = "loaded_" + std::to_string(++vectors_);
  const std::string load = fmt::format("load_vector<{}, {}>({});", lanes.count, wide,
                                       print_address(buffer, offset, lanes));
  used_.insert(buffer);
  rely_on(buffer, wide * size_of(b.type));
  const std::string type = fmt::format("Vector<{}, {}> ", stored_type(b.type), lanes.count);
  if (inside.empty()) {
    line("const " + type + name + " = " + load);
  } else {
    line(type + name + ";");
    line("if (" + inside + ") " + name + " = " + load);
  }
  return name;
}

/// The kernel counts on the alignment of what the call passes.
void LaunchPrinter::rely_on(int buffer, int64_t bytes) {
  const NestBuffer& b = nest_.buffers[static_cast<size_t>(buffer)];
  if (b.home == Home::kTeam) return;
  const int slot = b.home == Home::kShared ? +ArgsLayout::kWorkspace : b.slot;
  int64_t& align = slot_align_[static_cast<size_t>(slot)];
  align = std::max(align, bytes);
}

}  // namespace hone::jit
