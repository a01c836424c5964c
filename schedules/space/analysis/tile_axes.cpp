// SPDX-License-Identifier: Apache-2.0
#include "schedules/space/analysis/tile_axes.h"

#include <algorithm>
#include <cstdlib>
#include <tuple>

#include "schedules/space/analysis/shape.h"
#include "schedules/space/analysis/tile_loads.h"
#include "schedules/steps/edit.h"

namespace hone::schedules {
namespace {

/// Part of the cycles that counts as the same.
/// Fixed by: rounding of sums of cycles.
constexpr double kSame = 0.999;

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

/// What storing the results and packing take, shared by the steps of the reduction.
double cycles_beside(const Plan& plan, const TiledReduction& t, const VectorAxis& axis,
                     double cycles_of_vector) {
  const ir::Stage& p = plan.stage(t.producer);
  const StageFacts& facts = plan.facts(t.producer);
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
  const StageFacts& facts = plan.facts(t.producer);
  const ir::Stage& p = plan.stage(t.producer);
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
  const StageFacts& facts = plan.facts(t.producer);
  const ir::Stage& p = plan.stage(t.producer);
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
  const StageFacts& facts = plan.facts(producer);
  const ir::Stage& p = plan.stage(producer);
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
  const StageFacts& facts = plan.facts(t.producer);
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
  const ir::Stage& p = plan.stage(t.producer);
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
  const ir::Stage& p = plan.stage(t.producer);
  const StageFacts& facts = plan.facts(t.producer);
  TileAxes out;
  out.axis = axis;
  TileProblem chosen = problem_for(plan, t, axis, "", dots);
  out.size = choose_tile(chosen, plan.machine());
  out.cycles = out.size.cycles * around(p, facts, axis.var, "");
  for (const std::string& rows : rows_beside(plan, t, facts, axis.var)) {
    TileProblem problem = problem_for(plan, t, axis, rows, dots);
    const TileSize size = choose_tile(problem, plan.machine());
    const double cycles = size.cycles * around(p, facts, axis.var, rows);
    if (cycles >= out.cycles * kSame) continue;
    out.cycles = cycles;
    out.rows = rows;
    out.size = size;
    chosen = problem;
  }
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
  const StageFacts& facts = plan.facts(t.producer);
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
