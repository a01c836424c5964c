// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <optional>

#include "schedules/space/analysis/align.h"
#include "schedules/space/analysis/results_tile.h"
#include "schedules/space/analysis/shape.h"
#include "schedules/space/analysis/tile_axes.h"
#include "schedules/space/rules/rule.h"
#include "schedules/steps/edit.h"
#include "schedules/steps/parts.h"

namespace hone::schedules {
namespace {

/// Cycles of an element that is copied: neighbours stay neighbours, others become neighbours by
/// squares in registers, and one by one.
/// Tuned on: Zen 3 (AVX2).
constexpr double kAlong = 0.5, kTurned = 1.5, kApart = 3;
/// Part of them that a call has, of what is copied when constants are bound.
/// Chosen: a thousand calls share it (not measured).
constexpr double kAtBind = 0.001;
/// Part of the cycles as the loads lie that are left at most.
/// Chosen: room for the estimate's error (not measured).
constexpr double kWorth = 0.8;

using Names = std::vector<std::string>;

/// Indices of a sum of products of two tensors, by the tensors that move along them.
struct Groups {
  Names both;     ///< of both tensors and of the result
  Names columns;  ///< of the tensor that tiles read as vectors
  Names rows;     ///< of the one that they broadcast
  Names reduced;  ///< summed over
  Access of_columns, of_rows;
};

/// The indices where vectors run along `column`; false where it belongs to no tensor alone.
bool group(const Plan& plan, const std::string& name, const std::string& column, Groups& g) {
  const ir::Stage& s = plan.stage(name);
  const StageFacts& facts = plan.facts(name);
  const bool first = facts.loads[0].stride(column) != 0;
  if (first == (facts.loads[1].stride(column) != 0)) return false;
  g.of_columns = facts.loads[first ? 0 : 1];
  g.of_rows = facts.loads[first ? 1 : 0];
  for (const ir::IndexVar& v : s.vars) {
    const bool c = g.of_columns.stride(v.name) != 0, r = g.of_rows.stride(v.name) != 0;
    if (v.name != column) (c && r ? g.both : c ? g.columns : g.rows).push_back(v.name);
  }
  g.columns.push_back(column);
  for (const ir::IndexVar& v : s.rvars) g.reduced.push_back(v.name);
  return true;
}

/// What a copy of a tensor takes whose neighbours will lie along `last`.
double copying(const Plan& plan, const StageFacts& facts, const Access& a,
               const std::string& last) {
  const bool bound = is_bound(plan.program(), *plan.program().buffer(a.buffer));
  const double elements = static_cast<double>(facts.points(a.strides)) * (bound ? kAtBind : 1);
  if (a.stride(last) == 1) return elements * kAlong;
  const int lanes = plan.lanes(plan.program().buffer(a.buffer)->type);
  for (const auto& [var, stride] : a.strides) {
    if (stride == 1 && facts.extent(var) >= lanes) return elements * kTurned;
  }
  return elements * kApart;
}

std::vector<LayoutAxis> layout_of(std::initializer_list<const Names*> groups, const Access& a) {
  std::vector<LayoutAxis> out;
  for (const Names* names : groups) {
    for (const std::string& v : *names) {
      if (a.stride(v) != 0) out.push_back({v});
    }
  }
  return out;
}

/// Makes a tensor of a load of the stage, its dims in an order of their own.
bool lay_out(Plan& plan, const std::string& name, const Access& a, std::vector<LayoutAxis> layout) {
  const ir::Stage s = plan.stage(name);
  const std::vector<ir::Expr> loads = loads_of(s, a.buffer);
  const std::vector<Part> parts = parts_of(s);
  const size_t place = loads.size() == 1 ? place_of(parts, loads[0]) : parts.size();
  if (place == parts.size()) return plan.declines("several loads read " + a.buffer);
  return plan.add(
      step::precompute(name, place, plan.fresh_stage(a.buffer + ".l"), std::move(layout)));
}

/// Cycles of the stage along the axis that it reduces, in tiles of results.
double cycles_of_dots(const Plan& plan, const std::string& name) {
  const ir::Stage& s = plan.stage(name);
  const StageFacts& facts = plan.facts(name);
  const VectorAxis axis = vector_axis(plan, name, facts.store, false);
  const auto points = static_cast<double>(facts.points(facts.extents));
  const double ends = static_cast<double>(facts.points(s.vars)) * vector_cost::horizontal(s);
  const double vectors = points / plan.lanes(widest_type(plan.program(), s));
  const double loads = (axis.cost * vectors - ends) * results_tile(plan, name).part;
  // A multiply and an add are one instruction.
  const double body = vectors * std::max(1, facts.operations - 1);
  return std::max(loads / plan.machine().load_ports, body / plan.machine().arithmetic_ports) +
         ends / plan.machine().arithmetic_ports;
}

/// Cycles of the stage in tiles along an axis of the results, as things lie; nothing where it has
/// none. How its results leave is its one reader's affair.
std::optional<double> cycles_in_tiles(const Plan& plan, const std::string& name) {
  TiledReduction t{name, name, {}};
  const ir::Stage& s = plan.stage(name);
  for (const ir::IndexVar& v : s.vars) t.follows[v.name] = v.name;
  const std::vector<size_t> readers = readers_of(plan.program(), s.output);
  if (readers.size() == 1 && plan.program().buffer(s.output)->axes.empty()) {
    const ir::Stage& reader = plan.program().stages[readers[0]];
    if (reader.reduce == ir::Reduce::kNone && pointwise(s, reader)) {
      t.root = reader.name;
      t.follows = alignment(s, reader);
    }
  }
  std::optional<double> least;
  for (const TileAxes& tile : tiles_for(plan, t)) {
    if (!least || tile.cycles < *least) least = tile.cycles;
  }
  if (!least) return {};
  return *least * static_cast<double>(plan.facts(name).points(s.rvars));
}

/// Cycles that no tile of the stage takes less than, however its operands lie: a multiply-add for
/// each point, in full vectors.
double least_in_tiles(const Plan& plan, const ir::Stage& s, const StageFacts& facts) {
  const auto points =
      static_cast<double>(facts.points(s.vars)) * static_cast<double>(facts.points(s.rvars));
  return points / plan.lanes(s.accumulate) / plan.machine().arithmetic_ports;
}

/// Lays out what is read and written for vectors along `column`; what the copies take, or less than
/// 0 where that does not do.
double lay_out_for(Plan& plan, const std::string& name, const std::string& column) {
  Groups g;
  if (!group(plan, name, column, g)) return -1;
  const StageFacts facts = plan.facts(name);
  double cycles = 0;
  if (g.of_columns.stride(column) != 1) {
    cycles += copying(plan, facts, g.of_columns, column);
    // Rows of one index lie together for all terms; short ones go on along others.
    const Names last = {column}, others(g.columns.begin(), g.columns.end() - 1);
    const int lanes = plan.lanes(plan.program().buffer(g.of_columns.buffer)->type);
    const bool wide = facts.extent(column) >= 2 * lanes;
    const Names &second = wide ? others : g.reduced, &third = wide ? g.reduced : others;
    if (!lay_out(plan, name, g.of_columns,
                 layout_of({&g.both, &second, &third, &last}, g.of_columns))) {
      return -1;
    }
  }
  const int64_t near =
      plan.machine().line_bytes / size_of(plan.program().buffer(g.of_rows.buffer)->type);
  const auto lies_near = [&](const std::string& v) {
    return g.of_rows.stride(v) != 0 && g.of_rows.stride(v) < near && facts.extent(v) > 1;
  };
  if (std::none_of(g.reduced.begin(), g.reduced.end(), lies_near) &&
      std::none_of(g.rows.begin(), g.rows.end(), lies_near)) {
    cycles += copying(plan, facts, g.of_rows, g.reduced.back());
    if (!lay_out(plan, name, g.of_rows, layout_of({&g.both, &g.rows, &g.reduced}, g.of_rows))) {
      return -1;
    }
  }
  return cycles;
}

/// Has the results lie along `column` in a tensor of their own first. Returns what copying them out
/// takes, or less than 0 where that does not do. `name` becomes the stage that computes them.
double lay_out_results(Plan& plan, std::string& name, const std::string& column) {
  Groups g;
  if (!group(plan, name, column, g)) return -1;
  const StageFacts facts = plan.facts(name);
  if (facts.store.stride(column) == 1) return -1;
  std::vector<LayoutAxis> layout;
  for (const Names* names : {&g.both, &g.rows, &g.columns}) {
    for (const std::string& v : *names) layout.push_back({v});
  }
  const std::string made = plan.fresh_stage(name + ".l");
  if (!plan.add(step::cache_write(name, made, std::move(layout)))) return -1;
  name = made;
  return static_cast<double>(facts.points(facts.store.strides)) * kTurned;
}

bool apply_operands(Plan& plan, const std::string& name) {
  const ir::Stage s = plan.stage(name);
  if (s.reduce == ir::Reduce::kNone) return plan.declines("the stage does not reduce");
  if (!s.relations.empty() || !s.at.root()) {
    return plan.declines("its loops are split or fused already, or inside another's");
  }
  const StageFacts facts = plan.facts(name);
  if (facts.loads.size() != 2 || !facts.bounds.empty()) {
    return plan.declines("it is no sum of products of two tensors");
  }
  for (const Access& a : facts.loads) {
    if (a.guarded || a.gathers) return plan.declines("a load of " + a.buffer + " is conditional");
  }
  const std::optional<double> in_tiles = cycles_in_tiles(plan, name);
  const double now = in_tiles ? *in_tiles : cycles_of_dots(plan, name);
  double least = kWorth * now;
  const bool may_gain = least_in_tiles(plan, s, facts) < least;
  std::string best;
  bool by_results = false;
  for (const ir::IndexVar& v : s.vars) {
    for (const bool results : {false, true}) {
      if (facts.extent(v.name) < 2 || !may_gain) continue;
      Plan::Mark before = plan.mark();
      std::string product = name;
      double out = results ? lay_out_results(plan, product, v.name) : 0;
      const double copies = out < 0 ? -1 : lay_out_for(plan, product, v.name);
      const auto then = copies < 0 ? std::nullopt : cycles_in_tiles(plan, product);
      if (then && copies + out > 0 && *then + copies + out < least) {
        least = *then + copies + out;
        best = v.name;
        by_results = results;
      }
      plan.rewind(std::move(before));
    }
  }
  if (best.empty()) return plan.declines("copies of what it reads cost more than they save");
  if (plan.decide("operands of " + name + " laid out along " + best, 2, 1) == 0) {
    return plan.declines("its operands were decided to stay as they lie");
  }
  std::string product = name;
  if (by_results) lay_out_results(plan, product, best);
  lay_out_for(plan, product, best);
  return true;
}

}  // namespace

const Rule cpu::kOperands = {
    "operands",
    "Tensors of a product that lie badly for tiles, because neighbours belong to an index of both "
    "or to another than vectors run along, are copied first.",
    apply_operands,
};

}  // namespace hone::schedules
