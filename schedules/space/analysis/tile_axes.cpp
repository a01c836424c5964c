// SPDX-License-Identifier: Apache-2.0
#include "schedules/space/analysis/tile_axes.h"

#include <algorithm>
#include <cstdlib>
#include <numeric>
#include <tuple>

#include "jit/ir/operations.h"
#include "schedules/space/analysis/periods.h"
#include "schedules/space/analysis/shape.h"
#include "schedules/space/analysis/tile_loads.h"
#include "schedules/steps/edit.h"

namespace hone::schedules {
namespace {

/// Rows at a time of those a multiple of a page apart, which share one set of the L1.
/// Tuned on: Zen 5 (AVX-512).
constexpr int64_t kCollidingRows = 8;
bool collides(const Plan& plan, int64_t bytes) {
  return bytes != 0 && bytes % plan.machine().page_bytes == 0;
}

/// Part of the cycles that counts as the same.
/// Fixed by: rounding of sums of cycles.
constexpr double kSame = 0.999;

/// Vectors in which a tile's columns are read: those of more run in a loop, which registers are not
/// read in.
/// Fixed by: loops over vectors, as instruction selection lays them out.
constexpr int64_t kMostVectors = 16;

/// Cycles of a vector of results on its way out: as it is, after a transposition in registers, and
/// element by element.
/// Tuned on: Zen 4 (AVX-512).
constexpr double kStraight = 1, kTransposed = 5, kElements = 24;
/// Cycles of an element that is copied for packing.
/// Tuned on: Zen 4 (AVX-512).
constexpr double kCopied = 0.5;
/// Cycles of an element that every row reads in a line of its own, from beyond the nearest cache.
/// Tuned on: Zen 4 (AVX-512).
constexpr double kFarElement = 2;
/// Bytes that the second level of caches gives the first in a cycle.
/// Fixed by: Zen 4; Zen 5 has twice that.
constexpr double kSecondBytes = 32;
/// Rows from which a transposed tile stores vectors worth having.
/// Tuned on: Zen 4 (AVX-512).
constexpr int64_t kFewestTransposed = 4;

/// The variables of the producer along which results of the root lie; others tell its terms.
std::vector<ir::IndexVar> result_vars(const Plan& plan, const TiledReduction& t) {
  std::vector<ir::IndexVar> out = plan.stage(t.producer).vars;
  std::erase_if(out, [&](const ir::IndexVar& v) {
    return std::count(t.summed.begin(), t.summed.end(), t.root_var(v.name)) != 0;
  });
  return out;
}

/// The variable of a small reduction along which rows of the tile read each other's elements.
std::string sliding(const Plan& plan, const TiledReduction& t, const std::string& columns,
                    const std::string& rows) {
  constexpr int64_t kSmall = 32;  // steps that are all unrolled. Tuned on: Zen 5 (AVX-512).
  const ir::Stage p = plan.stage(t.producer);
  const StageFacts facts = plan.facts(t.producer);
  int64_t steps = 1;
  for (const ir::IndexVar& r : p.rvars) {
    if (r.lo || !ir::is_const(r.hi)) return {};
    steps = saturating_product(steps, facts.extent(r.name));
  }
  if (rows.empty() || steps > kSmall || steps < 2) return {};
  for (const Access& a : facts.loads) {
    for (const ir::IndexVar& r : p.rvars) {
      const int64_t row = a.stride(rows), step = a.stride(r.name);
      if (a.stride(columns) == 0 || step <= 0 || row % step != 0) continue;
      // Of what lies outside other dims may be as far apart.
      const bool together = std::any_of(a.indices.begin(), a.indices.end(), [&](const auto& e) {
        return ir::mentions_var(e, rows) && ir::mentions_var(e, r.name);
      });
      if (together && row / step > 0 && row / step < facts.extent(r.name)) return r.name;
    }
  }
  return {};
}

/// What the rows of a tile may run along beside `columns`: first that along which loads lie
/// nearest. Of several, first those along which results do not meet in a cache.
std::vector<std::string> rows_beside(const Plan& plan, const TiledReduction& t,
                                     const StageFacts& facts, const std::string& columns) {
  std::vector<std::tuple<int64_t, bool, std::string>> by_step;
  const Access store = leaving_store(plan, t);
  const int64_t size = size_of(plan.program().buffer(store.buffer)->type);
  for (const ir::IndexVar& v : result_vars(plan, t)) {
    if (v.name == columns || facts.extent(v.name) <= 1 || facts.bounds.contains(v.name)) continue;
    int64_t step = 0;
    for (const Access& a : facts.loads) step = std::max(step, std::abs(a.stride(v.name)));
    by_step.emplace_back(step, collides(plan, store.stride(v.name) * size), v.name);
  }
  std::stable_sort(by_step.begin(), by_step.end(), [](const auto& a, const auto& b) {
    return std::tie(std::get<0>(a), std::get<1>(a)) < std::tie(std::get<0>(b), std::get<1>(b));
  });
  std::vector<std::string> out;
  for (auto& [step, meets, name] : by_step) out.push_back(std::move(name));
  return out;
}

/// Iterations of the loops over results around a tile of `columns` and `rows`.
double around(const ir::Stage& p, const StageFacts& facts, const std::string& columns,
              const std::string& rows) {
  double times = 1;
  for (const ir::IndexVar& v : p.vars) {
    if (v.name == columns || v.name == rows) continue;
    times *= std::max<double>(1, static_cast<double>(facts.extent(v.name)));
  }
  return times;
}

/// True where rows along `columns` begin at no multiples of a vector.
bool rows_begin_anywhere(const Plan& plan, const StageFacts& facts, const Access& a,
                         const std::string& columns) {
  const int64_t size = size_of(plan.program().buffer(a.buffer)->type);
  return std::any_of(a.strides.begin(), a.strides.end(), [&](const auto& s) {
    return s.first != columns && facts.extent(s.first) > 1 &&
           s.second * size % plan.machine().vector_bytes != 0;
  });
}

/// Operations on what moves along `columns` and not along `rows`, other than conversions: those
/// that take an element out of what is kept.
int operations_on_kept(const ir::Stage& p, const std::string& columns, const std::string& rows) {
  int shared = 0;
  const auto look = [&](const auto& self, const ir::Expr& e) -> void {
    if (e->op == ir::Op::kLoad || e->args.empty()) return;
    const bool counts = e->op != ir::Op::kCast && e->op != ir::Op::kCall;
    shared += counts && ir::mentions_var(e, columns) && !ir::mentions_var(e, rows);
    for (const ir::Expr& a : e->args) self(self, a);
  };
  look(look, p.value);
  return shared;
}

/// Quotients and remainders in a stage's value that move along a variable.
struct Quotients {
  int count = 0;
  int64_t repeat = 1;   ///< steps of it after which all are as at the first; 0: never
  bool clamps = false;  ///< others are clamped along it
};

Quotients quotients_along(const ir::Stage& p, const std::string& var) {
  std::set<std::string> unrolled;
  for (const ir::IndexVar& r : p.rvars) {
    int64_t trips = 0;
    if (!r.lo && ir::is_const(r.hi, &trips) && trips <= kFewPlaces) unrolled.insert(r.name);
  }
  std::vector<ir::Expr> found;
  Quotients out;
  ir::visit(p.value, [&](const ir::Expr& e) {
    const bool divides = (e->op == ir::Op::kDiv || e->op == ir::Op::kMod) && e->type == DType::kI64;
    const bool extreme = (e->op == ir::Op::kMin || e->op == ir::Op::kMax) && e->type == DType::kI64;
    out.clamps |= extreme && ir::mentions_var(e, var);
    const auto seen = [&](const ir::Expr& f) { return equal(f, e); };
    if (!divides || !ir::mentions_var(e, var)) return;
    if (std::any_of(found.begin(), found.end(), seen)) return;
    found.push_back(e);
    out.repeat = std::min(kMostCount, std::lcm(out.repeat, repeats_after(e, var, unrolled)));
  });
  out.count = static_cast<int>(found.size());
  return out;
}

/// Counts the quotients and remainders that each lane along `columns` has, and each row along
/// `rows`. Says after how many columns or rows all are as at the first.
void count_quotients(const ir::Machine& machine, const ir::Stage& p, const std::string& columns,
                     const std::string& rows, TileProblem& out) {
  const Quotients lanes = quotients_along(p, columns);
  out.lane_quotients = lanes.count;
  // Of short rows no vector is far from the ends at which quotients are clamped. Where registers
  // have masks a gather costs less than to know each lane.
  const bool near_ends = lanes.clamps && lanes.count > 0 && out.columns < kManyVectors * out.lanes;
  out.lanes_repeat = near_ends && !machine.masks_lanes ? 0 : lanes.repeat;
  if (rows.empty()) return;
  const Quotients of_rows = quotients_along(p, rows);
  out.row_quotients = of_rows.count;
  out.rows_repeat = of_rows.repeat;
}

/// Vectors that rows of a tile read in turns through an access along columns; 0 where each row has
/// its own.
int vectors_in_turn(const Access& a, const std::string& rows) {
  int64_t turns = 1;
  for (const ir::Expr& index : a.indices) {
    turns = std::lcm(turns, remainders_repeat(index, rows));
    if (turns > kFewPlaces) return 0;
  }
  return static_cast<int>(turns);
}

/// Vectors of `lanes` that a row of the tile may have, as its root reads them.
int64_t most_vectors_read(const Plan& plan, const TiledReduction& t, int lanes) {
  const int64_t read = plan.lanes(widest_type(plan.program(), plan.stage(t.root)));
  return std::max<int64_t>(kMostVectors * read / lanes, 1);
}

/// Instructions of one point. A choice by indices that `columns` is none of is made once for many;
/// others take a comparison, whatever their indices are made of.
int operations_along(const Plan& plan, const ir::Stage& p, const std::string& columns) {
  const auto is_index = [](const ir::Expr& e) {
    return !ir::any_node(
        e, [](const ir::Expr& x) { return x->op == ir::Op::kLoad || x->op == ir::Op::kScalar; });
  };
  const ir::Expr lane = ir::make_var(columns);
  const ir::Expr compared = ir::make_binary(ir::Op::kLt, lane, ir::make_int(1));
  ir::Stage decided = p;
  decided.value = ir::rewrite(p.value, [&](const ir::Expr& e) {
    if (e->op != ir::Op::kSelect || !is_index(e->args[0])) return ir::Expr();
    if (!ir::mentions_var(e->args[0], columns)) return e->args[1];
    return equal(e->args[0], compared) ? ir::Expr()
                                       : ir::make_select(compared, e->args[1], e->args[2]);
  });
  return facts_of(plan.program(), decided).operations;
}

/// Counts a load that lanes along the axis may each make at a place of their own.
void count_lane_by_lane(const Plan& plan, const ir::Stage& p, const Access& a,
                        const VectorAxis& axis, TileProblem& out) {
  const std::string& columns = axis.var;
  const bool tested = a.buffer != axis.packed && is_tested_apart(a, columns);
  const bool apart = a.chosen.contains(columns) && !is_shuffled(plan, p, a, columns);
  if (!apart && !tested) return;
  if (is_short_table(plan, a)) {
    ++out.vector_loads;  // a shuffle of what stays in registers, and what it is told by
    return;
  }
  const bool slow = a.slow.contains(columns);
  int& count = slow && plan.machine().masks_lanes ? out.shuffled
               : slow || tested                   ? out.quotients
               : chosen_by_data(a)                ? out.gathers
                                                  : out.placed;
  ++count;
}

/// Instructions that find an element which data choose; indices alone are part of addresses.
int operations_to_find(const Access& a) {
  if (!chosen_by_data(a)) return 0;
  double n = 0;
  for (const ir::Expr& index : a.indices) n += ir::operations_of(index);
  return static_cast<int>(n);
}

TileProblem problem_for(const Plan& plan, const TiledReduction& t, const VectorAxis& axis,
                        const std::string& rows, const Dots& dots) {
  const std::string& columns = axis.var;
  const ir::Stage p = plan.stage(t.producer);
  const StageFacts facts = plan.facts(t.producer);
  TileProblem out;
  out.lanes = plan.lanes(widest_type(plan.program(), p));
  out.columns = facts.extent(columns);
  out.rows = rows.empty() ? 1 : facts.extent(rows);
  out.most_vectors = most_vectors_read(plan, t, out.lanes);
  out.vector_loads = out.row_loads = 0;
  const std::string slide = sliding(plan, t, columns, rows);
  std::set<std::string> structures;  // buffers that are read so
  for (const ir::IndexVar& r : p.rvars) {
    if (!slide.empty()) out.copies *= facts.extent(r.name);
  }
  for (const Access& a : facts.loads) {
    if (!slide.empty() && a.stride(rows) != 0 && a.stride(slide) != 0) {
      out.slide = facts.extent(slide);
      out.slide_step = a.stride(rows) / a.stride(slide);
    }
    count_lane_by_lane(plan, p, a, axis, out);
    const bool along_columns = a.stride(columns) != 0;
    const bool along_rows = !rows.empty() && a.stride(rows) != 0;
    const bool meet =
        along_rows && !a.chosen.contains(rows) &&
        collides(plan, a.stride(rows) * size_of(plan.program().buffer(a.buffer)->type));
    if (a.buffer != axis.packed && structures.insert(a.buffer).second) {
      const int64_t kept = vectors_of_structures(plan, a, columns);
      (along_rows ? out.kept_by_rows : out.kept_loads) += static_cast<int>(kept);
      out.overlap_steps |= is_one_structure(plan, p, a, columns);
      if (kept > 0 && !a.structures.at(columns).empty()) {
        out.steps_together = std::max(out.steps_together, facts.extent(a.structures.at(columns)));
      }
    }
    const int turns = along_columns && along_rows ? vectors_in_turn(a, rows) : 0;
    if (turns > 0) {
      out.vector_loads += turns;
    } else if (along_columns && along_rows) {
      ++out.point_loads;
      if (meet) out.most_rows = 1;
    } else if (along_columns && stays(p, a)) {
      ++out.kept_loads;
    } else if (along_columns) {
      ++out.vector_loads;
      out.kept_loads += is_kept(p, facts, a);
      out.odd_loads += a.buffer != axis.packed && rows_begin_anywhere(plan, facts, a, columns);
    } else {
      out.row_loads += 1 + operations_to_find(a);
      if (meet) out.most_rows = std::min(out.most_rows, kCollidingRows);
    }
  }
  // A reduction of its own is cut in blocks where panels are long.
  if (t.fused() && around(p, facts, columns, "") > kMostTileRows) {
    out.panel_bytes =
        saturating_product(facts.points(p.rvars),
                           out.vector_loads * out.lanes * size_of(widest_type(plan.program(), p)));
  }
  const bool shares = out.kept_loads > 0 && !rows.empty();
  out.column_body = shares ? operations_on_kept(p, columns, rows) : 0;
  // A multiply and an add are one instruction.
  out.body = std::max(1, operations_along(plan, p, columns) - out.column_body - 1);
  out.code = std::max(1, facts.operations - out.column_body - 1);
  if (dots) {
    out.body = dots.row->operations;
    out.prepared = dots.row->prepared;
    out.column_sums = dots.row->sums;
  }
  out.epilogue = t.fused() ? plan.facts(t.root).operations : 0;
  count_quotients(plan.machine(), p, columns, rows, out);
  out.unrolls = ir::is_const(p.var(columns)->hi);
  // Panels end where the tensor does, and the call's extents may be shorter than a tile.
  const ir::Stage root = plan.stage(t.root);
  // Where a tile reaches back to, quotients are as at the first where they repeat up to the end.
  const bool repeat = out.lanes_repeat > 0 && out.columns % out.lanes_repeat == 0;
  out.overlaps = axis.packed.empty() && !dots && out.quotients == 0 && repeat && t.summed.empty() &&
                 root.at.root() && !reads(root, root.output) && ir::is_const(p.var(axis.var)->hi);
  return out;
}

/// What storing the results and packing take, shared by the steps of the reduction.
double cycles_beside(const Plan& plan, const TiledReduction& t, const VectorAxis& axis,
                     double cycles_of_vector) {
  const ir::Stage p = plan.stage(t.producer);
  const StageFacts facts = plan.facts(t.producer);
  const int lanes = plan.lanes(widest_type(plan.program(), p));
  double cycles = around(p, facts, "", "") / lanes * cycles_of_vector;
  if (!axis.packed.empty()) {
    const ir::Buffer& b = *plan.program().buffer(axis.packed);
    const auto elements = static_cast<double>(bytes_of(plan.program(), b) / size_of(b.type));
    if (!b.constant) cycles += elements * kCopied;
  }
  return cycles / static_cast<double>(facts.points(p.rvars));
}

/// True of an element that is broadcast, where neither the next row nor the next step of the
/// reduction reads its line.
bool reads_far(const Plan& plan, const TiledReduction& t, const TileAxes& tile, const Access& a) {
  const ir::Buffer& b = *plan.program().buffer(a.buffer);
  if (a.gathers || bytes_of(plan.program(), b) <= plan.machine().l1d) return false;
  const auto near = [&](const std::string& var) {
    const int64_t bytes = a.stride(var) * size_of(b.type);
    return bytes != 0 && bytes < plan.machine().line_bytes;
  };
  const std::vector<ir::IndexVar>& reduced = plan.stage(t.producer).rvars;
  return !near(tile.rows) && std::none_of(reduced.begin(), reduced.end(),
                                          [&](const ir::IndexVar& r) { return near(r.name); });
}

/// Cycles of a vector that each point of a tile reads for itself, where other tiles read it again.
/// From which cache it comes is decided by all that one of them reads in between.
double cycles_from_far(const Plan& plan, const TiledReduction& t, const TileAxes& tile,
                       const Access& a) {
  const bool by_point = !tile.rows.empty() && a.stride(tile.rows) != 0 &&
                        (tile.slide.empty() || a.stride(tile.slide) == 0);
  const ir::Buffer& b = *plan.program().buffer(a.buffer);
  if (!by_point || a.gathers || bytes_of(plan.program(), b) <= plan.machine().l1d) return 0;
  const StageFacts facts = plan.facts(t.producer);
  const ir::Stage p = plan.stage(t.producer);
  const bool again = std::any_of(p.vars.begin(), p.vars.end(), [&](const ir::IndexVar& v) {
    return a.stride(v.name) == 0 && facts.extent(v.name) > 1;
  });
  if (!again) return 0;
  int64_t between = tile.size.rows * tile.size.vectors * plan.machine().vector_bytes;
  for (const ir::IndexVar& r : p.rvars) {
    if (a.stride(r.name) != 0) between = saturating_product(between, facts.extent(r.name));
  }
  if (between <= plan.machine().l1d / 2) return 0;
  const bool near = between <= plan.machine().l2 / 2;
  return plan.machine().vector_bytes / (near ? kSecondBytes : plan.machine().memory_bytes);
}

/// What a step of the reduction takes for loads that cost more. These are vectors element by
/// element, elements in lines of their own, and vectors for one result each from far.
double gathering_cycles(const Plan& plan, const TiledReduction& t, const TileAxes& tile) {
  const StageFacts facts = plan.facts(t.producer);
  const ir::Stage p = plan.stage(t.producer);
  const int lanes = plan.lanes(widest_type(plan.program(), p));
  double cycles = 0;  // of one vector of the results
  for (const Access& a : facts.loads) {
    const int64_t stride = a.stride(tile.axis.var);
    if (stride != 0) cycles += cycles_from_far(plan, t, tile, a);
    if (a.buffer == tile.axis.packed) continue;
    // Counted with the tile.
    if (a.slow.contains(tile.axis.var) || is_tested_apart(a, tile.axis.var)) continue;
    const bool shared = tile.rows.empty() || a.stride(tile.rows) == 0;
    const double sharing = shared ? static_cast<double>(tile.size.rows) : 1;
    if (is_spread(plan, a, tile.axis.var)) {
      cycles += vector_cost::spread(plan.machine(), a, tile.axis.var) / sharing;
    } else if (stride != 0 && stride != 1 && !is_shuffled(plan, p, a, tile.axis.var)) {
      cycles += kElements / sharing;
    } else if (stride == 0 && !shared && reads_far(plan, t, tile, a)) {
      cycles += kFarElement / static_cast<double>(tile.size.vectors);
    }
  }
  const double vectors = around(p, facts, "", "") / lanes;
  return cycles * vectors;
}

/// `axis` with a packed copy of what else is worth one.
VectorAxis with_copies(const Plan& plan, const std::string& producer, VectorAxis axis) {
  for (const Access& a : plan.facts(producer).loads) {
    if (axis.packed.empty() && a.stride(axis.var) > 1 && !panels_for_others(plan, a) &&
        worth_packing(plan, producer, a, axis.var)) {
      axis.packed = a.buffer;
    }
  }
  return axis;
}

/// True when every tensor is read along `axis` as vectors, by shuffles of near ones, or not at all.
bool reads_vectors(const Plan& plan, const std::string& producer, const VectorAxis& axis) {
  const StageFacts facts = plan.facts(producer);
  const ir::Stage p = plan.stage(producer);
  const bool masks = plan.machine().masks_lanes;
  return std::all_of(facts.loads.begin(), facts.loads.end(), [&](const Access& a) {
    const int64_t stride = a.stride(axis.var);
    return stride == 0 || stride == 1 || is_spread(plan, a, axis.var) ||
           (masks && a.slow.contains(axis.var)) || is_shuffled(plan, p, a, axis.var) ||
           a.buffer == axis.packed || is_short_table(plan, a);
  });
}

/// The variable that the store runs along, where rows of a tile may run along it; or "".
std::string stored_along(const Plan& plan, const TiledReduction& t) {
  const StageFacts facts = plan.facts(t.producer);
  const Access store = leaving_store(plan, t);
  if (!t.summed.empty()) return {};  // what is added to lies as it is
  for (const ir::IndexVar& v : plan.stage(t.producer).vars) {
    const bool plain = store.stride(v.name) == 1 && !facts.bounds.contains(v.name);
    if (plain && facts.extent(v.name) >= kFewestTransposed) return v.name;
  }
  return {};
}

/// Cycles of a vector of results of the tile on its way out. Elements of lines of their own move
/// whole lines, there and back, where no near cache keeps these until their others come.
double cycles_out(const Plan& plan, const TiledReduction& t, const TileAxes& tile) {
  const Access store = leaving_store(plan, t);
  const ir::Buffer& b = *plan.program().buffer(store.buffer);
  const int64_t size = size_of(b.type), line = plan.machine().line_bytes;
  const int64_t stride = saturating_product(store.stride(tile.axis.var), size);
  if (stride == size) return kStraight;
  const double usual = tile.transposed ? kTransposed : kElements;
  const bool far = bytes_of(plan.program(), b) > plan.machine().l2 / 2;
  // Rows that are turned fill lines in part, and come back for the rest unless they meet there.
  if (!far || stride < line || (tile.transposed && !collides(plan, stride))) return usual;
  const bool fills = !tile.rows.empty() && store.stride(tile.rows) == 1;
  const int lanes = plan.lanes(widest_type(plan.program(), plan.stage(t.producer)));
  const double together = static_cast<double>(fills ? std::min(tile.size.rows, line / size) : 1);
  const double lines = 2.0 * static_cast<double>(line) / plan.machine().memory_bytes;
  return std::max(usual, lanes * lines / together);
}

/// The tile of `axis` whose results are transposed on their way out; no size where there is none.
TileAxes tile_across(const Plan& plan, const TiledReduction& t, const VectorAxis& axis,
                     const std::string& rows) {
  const ir::Stage p = plan.stage(t.producer);
  TileAxes out;
  out.axis = axis;
  out.rows = rows;
  out.transposed = true;
  out.size = choose_tile(problem_for(plan, t, axis, rows, {}), plan.machine());
  out.cycles = out.size.cycles * around(p, plan.facts(t.producer), axis.var, rows) +
               cycles_beside(plan, t, axis, cycles_out(plan, t, out)) +
               gathering_cycles(plan, t, out);
  return out;
}

}  // namespace

Access leaving_store(const Plan& plan, const TiledReduction& t) {
  Access store = plan.facts(t.root).store;
  std::map<std::string, int64_t> strides;
  for (const auto& [own, theirs] : t.follows) {
    if (store.stride(theirs)) strides[own] = store.stride(theirs);
  }
  store.strides = std::move(strides);
  return store;
}

TileAxes tile_along(const Plan& plan, const TiledReduction& t, const VectorAxis& axis,
                    const Dots& dots) {
  const ir::Stage p = plan.stage(t.producer);
  const StageFacts facts = plan.facts(t.producer);
  TileAxes out;
  out.axis = axis;
  out.size = choose_tile(problem_for(plan, t, axis, "", dots), plan.machine());
  out.cycles = out.size.cycles * around(p, facts, axis.var, "");
  for (const std::string& rows : rows_beside(plan, t, facts, axis.var)) {
    const TileSize size = choose_tile(problem_for(plan, t, axis, rows, dots), plan.machine());
    const double cycles = size.cycles * around(p, facts, axis.var, rows);
    if (cycles >= out.cycles * kSame) continue;
    out.cycles = cycles;
    out.rows = rows;
    out.size = size;
  }
  const TileProblem chosen = problem_for(plan, t, axis, out.rows, dots);
  out.reaches_back = column_rest(chosen, plan.machine(), out.size.vectors).overlaps;
  if (out.size.rows == 1) out.rows.clear();
  out.slide = sliding(plan, t, axis.var, out.rows);
  out.cycles +=
      cycles_beside(plan, t, axis, cycles_out(plan, t, out)) + gathering_cycles(plan, t, out);
  return out;
}

std::vector<TileAxes> tiles_for(const Plan& plan, const TiledReduction& t) {
  const Access store = leaving_store(plan, t);
  const VectorAxis first = vector_axis(plan, t.producer, store, true);
  if (first.var.empty() || first.reduction) return {};
  const std::vector<ir::IndexVar> results = result_vars(plan, t);
  const auto is_result = [&](const std::string& var) {
    return std::any_of(results.begin(), results.end(),
                       [&](const ir::IndexVar& v) { return v.name == var; });
  };
  if (!is_result(first.var)) return {};
  std::vector<TileAxes> out{tile_along(plan, t, first, {})};
  const StageFacts facts = plan.facts(t.producer);
  const std::string rows = stored_along(plan, t);
  for (const ir::IndexVar& v : results) {
    const VectorAxis axis = with_copies(plan, t.producer, {v.name, false, "", 0});
    if (facts.bounds.contains(v.name) || facts.extent(v.name) <= 1) continue;
    if (!reads_vectors(plan, t.producer, axis)) continue;
    if (store.stride(v.name) == 1) {
      if (v.name != first.var) out.push_back(tile_along(plan, t, axis, {}));
    } else if (!rows.empty()) {
      TileAxes across = tile_across(plan, t, axis, rows);
      // Of one axis the cheaper way out comes first, however little it saves.
      if (v.name == first.var && across.cycles < out[0].cycles) std::swap(across, out[0]);
      out.push_back(std::move(across));
    }
  }
  return out;
}

}  // namespace hone::schedules
