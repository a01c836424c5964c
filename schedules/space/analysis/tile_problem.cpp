// SPDX-License-Identifier: Apache-2.0
#include "schedules/space/analysis/tile_problem.h"

#include <algorithm>
#include <numeric>
#include <set>

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

/// Vectors in which a tile's columns are read: those of more run in a loop, which registers are not
/// read in.
/// Fixed by: loops over vectors, as instruction selection lays them out.
constexpr int64_t kMostVectors = 16;

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
int operations_along(const ir::Stage& p, const std::string& columns) {
  const auto is_index = [](const ir::Expr& e) {
    return !ir::any_node(
        e, [](const ir::Expr& x) { return x->op == ir::Op::kLoad || x->op == ir::Op::kScalar; });
  };
  const ir::Expr lane = ir::make_var(columns);
  const ir::Expr compared = ir::make_binary(ir::Op::kLt, lane, ir::make_int(1));
  const ir::Expr decided = ir::rewrite(p.value, [&](const ir::Expr& e) {
    if (e->op != ir::Op::kSelect || !is_index(e->args[0])) return ir::Expr();
    if (!ir::mentions_var(e->args[0], columns)) return e->args[1];
    return equal(e->args[0], compared) ? ir::Expr()
                                       : ir::make_select(compared, e->args[1], e->args[2]);
  });
  return operations_of_point(p.reduce, decided);
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

}  // namespace

bool collides(const Plan& plan, int64_t bytes) {
  return bytes != 0 && bytes % plan.machine().page_bytes == 0;
}

std::string sliding(const Plan& plan, const TiledReduction& t, const std::string& columns,
                    const std::string& rows) {
  constexpr int64_t kSmall = 32;  // steps that are all unrolled. Tuned on: Zen 5 (AVX-512).
  const ir::Stage& p = plan.stage(t.producer);
  const StageFacts& facts = plan.facts(t.producer);
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

double around(const ir::Stage& p, const StageFacts& facts, const std::string& columns,
              const std::string& rows) {
  double times = 1;
  for (const ir::IndexVar& v : p.vars) {
    if (v.name == columns || v.name == rows) continue;
    times *= std::max<double>(1, static_cast<double>(facts.extent(v.name)));
  }
  return times;
}

TileProblem problem_for(const Plan& plan, const TiledReduction& t, const VectorAxis& axis,
                        const std::string& rows, const Dots& dots) {
  const std::string& columns = axis.var;
  const ir::Stage& p = plan.stage(t.producer);
  const StageFacts& facts = plan.facts(t.producer);
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
  out.body = std::max(1, operations_along(p, columns) - out.column_body - 1);
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
  const ir::Stage& root = plan.stage(t.root);
  // Where a tile reaches back to, quotients are as at the first where they repeat up to the end.
  const bool repeat = out.lanes_repeat > 0 && out.columns % out.lanes_repeat == 0;
  out.overlaps = axis.packed.empty() && !dots && out.quotients == 0 && repeat && t.summed.empty() &&
                 root.at.root() && !reads(root, root.output) && ir::is_const(p.var(axis.var)->hi);
  return out;
}

}  // namespace hone::schedules
