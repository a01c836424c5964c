// SPDX-License-Identifier: Apache-2.0
#include "jit/passes/lower/warp_tiles.h"

#include "jit/ir/instructions.h"
#include "jit/ir/poly.h"
#include "jit/passes/lower/thread_loops.h"
#include "jit/passes/reject.h"

namespace hone::jit {

using namespace ir;

namespace {

/// The loops of a stage that are one instruction on tiles: those over rows, columns and the sum.
struct TileLoops {
  const Instruction* row = nullptr;
  std::string m, n, k;  ///< the variables that they are parts of
};

std::string root_of(const StageLoops& loops, int node) {
  const auto at = [&] { return loops.nodes[static_cast<size_t>(node)]; };
  while (at().made_by >= 0) node = loops.parent[static_cast<size_t>(at().made_by)];
  return at().name;
}

TileLoops tiles_of(const StageLoops& loops) {
  const Stage& s = *loops.stage;
  const size_t n = s.loops.size();
  if (n < 3 || s.loops[n - 1].mark != Mark::kTensor) return {};
  const Instruction* row = s.loops[n - 1].instruction;
  if (row->lanes == 0) return {};
  return {row, root_of(loops, loops.order[n - 3]), root_of(loops, loops.order[n - 2]),
          root_of(loops, loops.order[n - 1])};
}

}  // namespace

void WarpTiles::check(const Instance& in) const {
  const Stage& s = in.stage();
  const TileLoops t = tiles_of(*in.loops);
  if (!t.row) return;
  const std::string name = t.row->name;
  if (!available(*t.row, target_)) {
    reject(name + " of stage " + s.name + " needs " + needs(*t.row) + "; the target is " +
           print(target_) + newer_compiler_hint(target_, available(*t.row, device_of(target_))));
  }
  const auto check = [&](const std::string& buffer, Space at, const char* from) {
    if (program_.buffer(buffer)->space == at) return;
    reject(name + " of stage " + s.name + " takes " + buffer + " from " + from +
           "; keep it in=" + std::string(name_of(at)));
  };
  const char* const registers = "the registers of the lanes that run it";
  check(s.output, Space::kWarp, registers);
  visit(s.value, [&](const Expr& e) {
    if (e->op != Op::kLoad) return;
    if (t.row->most_columns == 0) return check(e->name, Space::kWarp, registers);
    const bool rows = dim_along(e->args, t.m) >= 0;
    if (rows && program_.buffer(e->name)->space == Space::kWarp) return;
    check(e->name, Space::kSharedMemory, "shared memory");
  });
  for (const ThreadLoop& t : threads_.open_loops()) {
    if (t.mark != Mark::kThreadX) continue;
    reject(name + " of stage " + s.name + " is inside " + nest_.loops[static_cast<size_t>(t.id)] +
           ", which is bound to thread.x; all lanes of a warp run it together");
  }
}

void WarpTiles::check_whole(const Loop& l, const Piece& piece) const {
  if (l.mark != Mark::kTensor || l.instruction->lanes == 0) return;
  const Instruction& row = *l.instruction;
  const Poly trips = piece.end - piece.begin;
  const std::optional<int64_t> n = trips.value();
  if (n && piece.begin == Poly() && (*n == row.rows || takes_columns(row, *n) || *n == row.group)) {
    return;
  }
  reject(std::string(row.name) + " takes whole tiles, loop " + l.name + " has " +
         print(trips.expr()) + " iterations; split it, or the loop around it, with tail=pad");
}

/// As the loops of the stage that computes it say: a lane has what its iteration of thread.x
/// writes. The other loops number its registers.
WarpLayout WarpTiles::by_loops(const Buffer& b) const {
  const Stage* made = program_.producer(b.name);
  if (!made) return {};
  const StageLoops& loops = context_.loops[program_.stages.index_of(*made)];
  const auto dim_of = [&](const std::string& var) {
    for (size_t d = 0; d < made->out_index.size(); ++d) {
      const Expr& e = made->out_index[d];
      if (e->op == Op::kVar && e->name == var) return static_cast<int>(d);
    }
    return -1;
  };
  std::vector<Axis> registers, lanes;
  const auto add = [&](const auto& self, int node, int64_t div, int64_t mod,
                       std::vector<Axis>& to) -> void {
    const LoopNode& n = loops.nodes[static_cast<size_t>(node)];
    if (n.made_by < 0) {
      if (n.reduction) return;
      const int dim = dim_of(n.name);
      if (dim < 0) reject(b.name + " is in=warp and has no dim for " + n.name);
      to.push_back({dim, div, mod});
      return;
    }
    const auto r = static_cast<size_t>(n.made_by);
    const Relation& rel = made->relations[r];
    if (rel.kind == Relation::kFuse) {
      self(self, loops.parent[r], 1, 0, to);
      self(self, loops.second[r], 1, 0, to);
    } else if (n.inner) {
      self(self, loops.parent[r], div, mod ? std::min(mod, rel.factor / div) : rel.factor / div,
           to);
    } else {
      self(self, loops.parent[r], div * rel.factor, mod, to);
    }
  };
  for (size_t i = 0; i < made->loops.size(); ++i) {
    const bool lane = made->loops[i].mark == Mark::kThreadX;
    add(add, loops.order[i], 1, 0, lane ? lanes : registers);
  }
  WarpLayout out;
  for (Axis& axis : lanes) {
    if (axis.mod == 0) return {};
    out.lanes = std::max(out.lanes, 1) * static_cast<int>(axis.mod);
  }
  out.axes = std::move(registers);
  out.axes.insert(out.axes.end(), lanes.begin(), lanes.end());
  return out;
}

WarpLayout WarpTiles::layout_of(const Buffer& b) const {
  WarpLayout found;
  const auto take = [&](const TileLoops& t, Operand operand, int row, int column) {
    if (row < 0 || column < 0) return;
    std::vector<Axis> axes;
    for (int d = 0; d < static_cast<int>(b.shape.size()); ++d) {
      if (d != row && d != column) axes.push_back({d});
    }
    const std::vector<Axis> tile = tile_axes(*t.row, operand, row, column);
    axes.insert(axes.end(), tile.begin(), tile.end());
    const WarpLayout layout{std::move(axes), t.row->lanes};
    if (found.lanes != 0 && !(found == layout)) {
      reject(b.name +
             " is an operand of tensor instructions in two layouts; stage it in=warp for " +
             "one of them");
    }
    found = layout;
  };
  for (size_t i = 0; i < program_.stages.size(); ++i) {
    const Stage& s = program_.stages[i];
    const TileLoops t = tiles_of(context_.loops[i]);
    if (!t.row) continue;
    if (s.output == b.name) {
      take(t, Operand::kResult, dim_along(s.out_index, t.m), dim_along(s.out_index, t.n));
    }
    visit(s.value, [&](const Expr& e) {
      if (e->op != Op::kLoad || e->name != b.name) return;
      take(t, Operand::kA, dim_along(e->args, t.m), dim_along(e->args, t.k));
      if (t.row->most_columns == 0) {
        take(t, Operand::kB, dim_along(e->args, t.n), dim_along(e->args, t.k));
      }
    });
  }
  if (found.lanes == 0) found = by_loops(b);
  if (found.lanes == 0) {
    reject(b.name +
           " is in=warp, and no tensor instruction reads or writes it; tensorize, or use " +
           "in=registers");
  }
  if (!b.axes.empty())
    reject(b.name + " is in=warp, laid out as its instruction asks; leave out layout=");
  return found;
}

}  // namespace hone::jit
