// SPDX-License-Identifier: Apache-2.0
#include "jit/cuda/lane_access.h"

#include <fmt/format.h>

namespace hone::jit {

using namespace ir;

/// Memory that is accessed in words, unlike a thread's own registers.
bool LaneAccess::in_memory(int buffer) const {
  const Home home = nest_.buffers[static_cast<size_t>(buffer)].home;
  return home == Home::kArgument || home == Home::kBound || home == Home::kWorkspace ||
         home == Home::kSharedMemory;
}

int64_t LaneAccess::width(int buffer, const Expr& offset, const VectorLanes& lanes) const {
  if (!in_memory(buffer)) return 1;
  return access_width(nest_.buffers[static_cast<size_t>(buffer)], offset, lanes, n_.facts);
}

/// Whether any access inside `s` takes several lanes at once.
bool LaneAccess::any_wide(const Stmt& s, const VectorLanes& lanes) const {
  bool found = false;
  each_stmt(s, [&](const Stmt& x) {
    const auto* store = as<StoreStmt>(x);
    if (!store) return;
    found |= width(store->buffer, store->offset, lanes) > 1;
    visit(store->value, [&](const Expr& e) {
      found |= e->op == Op::kLoad && width(e->id, e->args[0], lanes) > 1;
    });
  });
  return found;
}

/// What stores `wide` elements at a time.
std::string LaneAccess::store_of(const StoreStmt& s, int64_t wide) const {
  const bool global = nest_.buffers[static_cast<size_t>(s.buffer)].home != Home::kSharedMemory;
  if (!global || forms_.plain_stores) return fmt::format("store_vector<{}>", wide);
  int stores = 0, loads = 0;
  each_stmt(*launch_.body, [&](const Stmt& x) {
    for_each_load(x, [&](const Expr& load) { loads += load->id == s.buffer ? 1 : 0; });
    const auto* store = as<StoreStmt>(x);
    if (!store || store->buffer != s.buffer) return;
    ++stores;
    loads += store->reduce != Reduce::kNone ? 1 : 0;
  });
  return fmt::format("store_global<{}, {}>", wide, stores == 1 && loads == 0);
}

/// `f` for one lane after the other.
void LaneAccess::emit_each_lane(const VectorLanes& lanes, const Print& f) {
  line("#pragma unroll");
  open(fmt::format("for ({0} {1} = {2}; {1} < {3}; ++{1}) {{", n_.index_type(), loop(lanes.loop),
                   print_index(lanes.begin, n_),
                   print_index(lanes.begin + make_int(lanes.count), n_)));
  f();
  close();
}

/// What the lanes store, into the vector `out`.
void LaneAccess::emit_lane_values(const StoreStmt& s, const VectorLanes& lanes,
                                  const std::string& out) {
  const NestBuffer& b = nest_.buffers[static_cast<size_t>(s.buffer)];
  note(s.offset);
  note(s.value);
  used_.insert(s.buffer);
  written_.insert(&b);
  const int64_t wide = width(s.buffer, s.offset, lanes);
  const std::string before =
      s.reduce == Reduce::kNone ? "" : loaded(s.buffer, s.offset, wide, lanes, "");
  emit_each_lane(lanes, [&] {
    if (s.reduce == Reduce::kNone && s.value->type == b.type) {
      return line(in_lane(out, lanes) + " = " + print_stored(s.value, n_) + ";");
    }
    std::string value = print_operand(s.value, n_);
    if (s.reduce != Reduce::kNone) {
      value = fmt::format("{}::of({}, {})", combiner(s.reduce),
                          from_stored(b.type, in_lane(before, lanes)), value);
    }
    line(in_lane(out, lanes) + " = " + to_stored(b.type, value) + ";");
  });
}

/// The lane's part of a vector.
std::string LaneAccess::in_lane(const std::string& vector, const VectorLanes& lanes) const {
  const Poly lane =
      Poly::atom(make_var(loop(lanes.loop), lanes.loop)) - Poly::of(lanes.begin, &n_.facts);
  return vector + ".v[" + print_index(lane.expr(), n_) + "]";
}

/// Where lane 0 accesses the buffer.
std::string LaneAccess::print_address(int buffer, const Expr& offset,
                                      const VectorLanes& lanes) const {
  return fmt::format("HONE_AT({}, {})", n_.buffers[static_cast<size_t>(buffer)],
                     print_element(buffer, in_first_lane(offset, lanes), n_));
}

/// Loads what the lanes of `value` load side by side, before all else.
void LaneAccess::hold_loads(const Expr& value, const VectorLanes& lanes) {
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
std::string LaneAccess::loaded(int buffer, const Expr& offset, int64_t wide,
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

}  // namespace hone::jit
