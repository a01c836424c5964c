// SPDX-License-Identifier: Apache-2.0
// Tiles that the lanes of a warp hold together, and the instructions on them.
#include <fmt/format.h>

#include <algorithm>

#include "jit/cuda/print_tiles.h"
#include "jit/ir/instructions.h"

namespace hone::jit {

using namespace ir;

namespace {

/// p/k, where k divides every coefficient.
std::optional<Poly> quotient(const Poly& p, int64_t k) {
  if (p.constant() % k != 0) return {};
  for (const Poly::Term& t : p.terms()) {
    if (t.coef % k != 0) return {};
  }
  return floor_div(p, k, nullptr);
}

const Expr& without_casts(const Expr& e) {
  return e->op == Op::kCast ? without_casts(e->args[0]) : e;
}

TileStmts tiles_of(const ForStmt& s) {
  TileStmts t;
  t.row = s.instruction;
  const Stmt* at = &s;
  for (const auto* l = &s; l && l->mark == Mark::kTensor; l = as<ForStmt>(*at)) {
    t.loops.push_back(l->loop);
    if (t.loops.size() == 2) is_const(l->end, &t.columns);
    at = l->body[0].get();
  }
  t.store = &to<StoreStmt>(*at);
  if (t.store->reduce == Reduce::kNone) return t;
  t.a = without_casts(t.store->value->args[0]);
  t.b = without_casts(t.store->value->args[1]);
  if (!mentions_loop(t.a->args[0], t.loops[0])) std::swap(t.a, t.b);
  return t;
}

/// Where element (row, column) of an operand's tile lies behind the tile's first.
Poly inside_tile(const Instruction& row, Operand operand, const Poly& r, const Poly& c,
                 const Facts& facts) {
  Poly at, stride(1);
  const std::vector<Axis> axes = tile_axes(row, operand, 0, 1);
  for (size_t a = axes.size(); a-- > 2;) {
    const Poly& index = axes[a].dim == 0 ? r : c;
    at += floor_mod(floor_div(index, axes[a].div, &facts), axes[a].mod, &facts) * stride;
    stride = stride * Poly(axes[a].mod);
  }
  // Tiles side by side lie one after the other.
  if (row.most_columns > 0 && operand == Operand::kResult) {
    at += floor_div(c, row.columns, &facts) * stride;
  }
  return at;
}

}  // namespace

Expr register_of(const NestBuffer& b, const Expr& offset, const CudaNames& names) {
  const auto refuse = [&](const char* why) {
    throw ir::Reject{"lanes of a warp hold " + b.name + "[" + print(offset) + "]" + why};
  };
  if (names.lane < 0) refuse(", which is read outside a loop bound to thread.x; use lanes");
  const Poly own =
      Poly::atom(make_var(names.nest->loops[static_cast<size_t>(names.lane)], names.lane));
  const auto at = quotient(Poly::of(offset, &names.facts) - own, b.lanes);
  if (!at || at->mentions_loop(names.lane)) {
    refuse(", of which each lane would ask another one; use lanes with the tile's words");
  }
  return at->expr();
}

std::optional<OtherLane> other_lane(const NestBuffer& b, const Expr& offset,
                                    const CudaNames& names) {
  constexpr int kWarp = 32;  // Fixed by: CUDA.
  if (b.home != Home::kWarp || names.lane < 0 || size_of(b.type) != 4) return {};
  const Poly at = Poly::of(offset, &names.facts);
  const Poly own =
      Poly::atom(make_var(names.nest->loops[static_cast<size_t>(names.lane)], names.lane));
  const auto same = quotient(at - own, b.lanes);
  if (same && !same->mentions_loop(names.lane)) return {};
  const Poly number = floor_div(at, b.lanes, &names.facts);
  const Poly from = at - number * Poly(b.lanes);
  const bool in_warp = floor_div(from, kWarp, &names.facts) == floor_div(own, kWarp, &names.facts);
  if (!in_warp || number.mentions_loop(names.lane)) return {};
  return OtherLane{number.expr(), floor_mod(from, kWarp, &names.facts).expr()};
}

int64_t TilePrinter::registers_of(const NestBuffer& b) const {
  int64_t elements = 0;
  is_const(b.elements, &elements);
  return elements / b.lanes;
}

/// Lanes that hold tiles together are a row of threads, so that a thread's place among them is its
/// number along x.
void TilePrinter::check_warps() const {
  each_stmt(*launch_.body, [&](const Stmt& s) {
    const auto* store = as<StoreStmt>(s);
    if (!store) return;
    const NestBuffer& b = nest_.buffers[static_cast<size_t>(store->buffer)];
    if (b.home != Home::kWarp || b.lanes == out_.block[0]) return;
    throw ir::Reject{fmt::format(
        "launch {} keeps {} in the registers of {} lanes together, and has {} threads along x; "
        "bind loops of {} iterations to thread.x",
        launch_.name, b.name, b.lanes, out_.block[0], b.lanes)};
  });
}

/// Whether iterations of a loop use registers by its number: it is unrolled, for registers have
/// none at run time.
bool TilePrinter::numbers_registers(const ForStmt& s) const {
  bool found = false;
  const auto look = [&](int buffer, const Expr& offset) {
    if (nest_.buffers[static_cast<size_t>(buffer)].home != Home::kWarp) return;
    found |= mentions_loop(offset, s.loop);
  };
  each_stmt(s, [&](const Stmt& x) {
    const auto* store = as<StoreStmt>(x);
    if (!store) return;
    look(store->buffer, store->offset);
    visit(store->value, [&](const Expr& e) {
      if (e->op == Op::kLoad) look(e->id, e->args[0]);
    });
  });
  int64_t begin = 0, end = 0;
  if (found && !(is_const(s.begin, &begin) && is_const(s.end, &end))) {
    throw ir::Reject{"loop " + loop(s.loop) + " numbers registers of a warp and has no constant " +
                     "extent; split around it with tail=pad"};
  }
  return found;
}

/// The register of `buffer` with which the tile of an operand begins.
std::string TilePrinter::first_register(const TileStmts& t, int buffer, const Expr& offset,
                                        Operand operand) {
  const NestBuffer& b = nest_.buffers[static_cast<size_t>(buffer)];
  const auto var = [&](size_t i) {
    return Poly::atom(make_var(nest_.loops[static_cast<size_t>(t.loops[i])], t.loops[i]));
  };
  const Poly rows = var(operand == Operand::kB ? 1 : 0);
  const Poly columns = var(operand == Operand::kResult ? 1 : 2);
  used_.insert(buffer);
  const auto at = quotient(
      Poly::of(offset, &n_.facts) - inside_tile(*t.row, operand, rows, columns, n_.facts), b.lanes);
  const bool whole = at && std::none_of(t.loops.begin(), t.loops.end(),
                                        [&](int id) { return at->mentions_loop(id); });
  if (!whole) {
    throw ir::Reject{std::string(t.row->name) + " would read parts of tiles of " + b.name};
  }
  return print_index(at->expr(), n_);
}

/// An instruction on tiles, or the first value of a tile of results.
void TilePrinter::emit_tiles(const ForStmt& s) {
  const TileStmts t = tiles_of(s);
  const Instruction& row = *t.row;
  const StoreStmt& store = *t.store;
  if (store.reduce != Reduce::kNone && row.most_columns > 0) return emit_wgmma(t);
  const auto at = [&](int buffer, const Expr& offset, Operand operand) {
    return n_.buffers[static_cast<size_t>(buffer)] + ".at(" +
           first_register(t, buffer, offset, operand) + ")";
  };
  const std::string result = at(store.buffer, store.offset, Operand::kResult);
  if (store.reduce == Reduce::kNone) {
    line("#pragma unroll");
    return line(fmt::format("for (i32 i = 0; i < {}; ++i) {}[i] = {};",
                            row.rows * t.columns / row.lanes, result,
                            print_value(store.value, n_)));
  }
  std::string name = row.name;
  std::replace(name.begin(), name.end(), '.', '_');
  line(fmt::format("{}({}, {}, {});", name, result, at(t.a->id, t.a->args[0], Operand::kA),
                   at(t.b->id, t.b->args[0], Operand::kB)));
}

/// Registers of each thread that tiles take.
int64_t TilePrinter::held_registers() const {
  std::set<int> tiles;
  each_stmt(*launch_.body, [&](const Stmt& s) {
    const auto* store = as<StoreStmt>(s);
    if (store && nest_.buffers[static_cast<size_t>(store->buffer)].home == Home::kWarp) {
      tiles.insert(store->buffer);
    }
  });
  int64_t words = 0;
  for (int b : tiles) {
    const NestBuffer& buffer = nest_.buffers[static_cast<size_t>(b)];
    words += registers_of(buffer) * size_of(buffer.type) / 4;
  }
  return words;
}

}  // namespace hone::jit
