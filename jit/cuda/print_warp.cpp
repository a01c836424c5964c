// SPDX-License-Identifier: Apache-2.0
// Tiles that the lanes of a warp hold together, and the instructions on them.
#include <fmt/format.h>

#include <algorithm>

#include "jit/cuda/print_launch.h"
#include "jit/ir/instructions.h"

namespace hone::jit {

using namespace ir;

namespace {

constexpr int64_t kLanes = 32;

/// p/k, where k divides every coefficient.
std::optional<Poly> quotient(const Poly& p, int64_t k) {
  if (p.constant() % k != 0) return {};
  for (const Poly::Term& t : p.terms()) {
    if (t.coef % k != 0) return {};
  }
  return floor_div(p, k, nullptr);
}

/// The loops that are one instruction on tiles, and the store inside.
struct Tiles {
  std::vector<int> loops;
  const Stmt* store = nullptr;
};

Tiles tiles_of(const Stmt& s) {
  Tiles t;
  const Stmt* at = &s;
  while (at->kind == Stmt::kFor && at->mark == Mark::kTensor) {
    t.loops.push_back(at->id);
    at = at->body[0].get();
  }
  t.store = at;
  return t;
}

const Expr& without_casts(const Expr& e) {
  return e->op == Op::kCast ? without_casts(e->args[0]) : e;
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
  return at;
}

}  // namespace

Expr register_of(const NestBuffer& b, const Expr& offset, const CudaNames& names) {
  const auto refuse = [&](const char* why) {
    throw Unprintable{"lanes of a warp hold " + b.name + "[" + print(offset) + "]" + why};
  };
  if (names.lane < 0) refuse(", which is read outside a loop bound to thread.x; use lanes");
  const Poly own =
      Poly::atom(make_var(names.nest->loops[static_cast<size_t>(names.lane)], names.lane));
  const auto at = quotient(Poly::of(offset, &names.facts) - own, kLanes);
  if (!at || at->mentions_loop(names.lane)) {
    refuse(", of which each lane would ask another one; use lanes with the tile's words");
  }
  return at->expr();
}

int64_t LaunchPrinter::registers_of(const NestBuffer& b) const {
  int64_t elements = 0;
  is_const(b.elements, &elements);
  return elements / kLanes;
}

/// Warps are rows of threads, so that a thread's place in its warp is its number along x.
void LaunchPrinter::check_warps() const {
  if (out_.block[0] == kLanes) return;
  each_stmt(*launch_.body, [&](const Stmt& s) {
    if (s.kind != Stmt::kStore || nest_.buffers[static_cast<size_t>(s.id)].home != Home::kWarp)
      return;
    throw Unprintable{fmt::format(
        "launch {} keeps {} in the registers of warps, and has {} threads along x; bind loops of "
        "32 iterations to thread.x",
        launch_.name, nest_.buffers[static_cast<size_t>(s.id)].name, out_.block[0])};
  });
}

/// Whether iterations of a loop use registers by its number: it is unrolled, for registers have
/// none at run time.
bool LaunchPrinter::numbers_registers(const Stmt& s) const {
  bool found = false;
  const auto look = [&](int buffer, const Expr& offset) {
    if (nest_.buffers[static_cast<size_t>(buffer)].home != Home::kWarp) return;
    visit(offset, [&](const Expr& x) { found |= x->op == Op::kVar && x->id == s.id; });
  };
  each_stmt(s, [&](const Stmt& x) {
    if (x.kind == Stmt::kStore) look(x.id, x.offset);
    visit(x.value, [&](const Expr& e) {
      if (e->op == Op::kLoad) look(e->id, e->args[0]);
    });
  });
  int64_t begin = 0, end = 0;
  if (found && !(is_const(s.begin, &begin) && is_const(s.end, &end))) {
    throw Unprintable{"loop " + loop(s.id) + " numbers registers of a warp and has no constant " +
                      "extent; split around it with tail=pad"};
  }
  return found;
}

/// An instruction on tiles, or the first value of a tile of results.
void LaunchPrinter::emit_tiles(const Stmt& s) {
  const Instruction& row = *s.instruction;
  const Tiles t = tiles_of(s);
  const auto var = [&](size_t i) {
    return Poly::atom(make_var(nest_.loops[static_cast<size_t>(t.loops[i])], t.loops[i]));
  };
  const auto first = [&](int buffer, const Expr& offset, Operand operand, size_t r, size_t c) {
    const NestBuffer& b = nest_.buffers[static_cast<size_t>(buffer)];
    used_.insert(buffer);
    const auto at = quotient(
        Poly::of(offset, &n_.facts) - inside_tile(row, operand, var(r), var(c), n_.facts), kLanes);
    const bool whole = at && std::none_of(t.loops.begin(), t.loops.end(),
                                          [&](int id) { return at->mentions_loop(id); });
    if (!whole)
      throw Unprintable{std::string(row.name) + " would read parts of tiles of " + b.name};
    return n_.buffers[static_cast<size_t>(buffer)] + ".at(" + print_index(at->expr(), n_) + ")";
  };
  const std::string result = first(t.store->id, t.store->offset, Operand::kResult, 0, 1);
  if (t.store->reduce == Reduce::kNone) {
    line("#pragma unroll");
    return line(fmt::format("for (i32 i = 0; i < {}; ++i) {}[i] = {};",
                            row.rows * row.columns / row.lanes, result,
                            print_value(t.store->value, n_)));
  }
  Expr a = without_casts(t.store->value->args[0]), b = without_casts(t.store->value->args[1]);
  bool rows = false;
  visit(a->args[0], [&](const Expr& e) { rows |= e->op == Op::kVar && e->id == t.loops[0]; });
  if (!rows) std::swap(a, b);
  std::string name = row.name;
  std::replace(name.begin(), name.end(), '.', '_');
  line(fmt::format("{}({}, {}, {});", name, result, first(a->id, a->args[0], Operand::kA, 0, 2),
                   first(b->id, b->args[0], Operand::kB, 1, 2)));
}

}  // namespace hone::jit
