// SPDX-License-Identifier: Apache-2.0
#include "schedules/space/analysis/axis.h"

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <limits>
#include <numeric>

#include "schedules/space/analysis/periods.h"
#include "schedules/space/analysis/shape.h"

namespace hone::schedules {
namespace {

/// Cost of reading from a packed copy, in loads.
/// Tuned on: Zen 5 (AVX-512).
constexpr double kPacked = 1.5;
/// Cost of reading every operand at every step, where a tile would read each once for many.
/// Tuned on: Zen 5 (AVX-512).
constexpr double kNoTile = 2;
/// Reads of an element that pay for a packed copy; of elements in other pages, fewer do.
/// Tuned on: Zen 5 (AVX-512).
constexpr int64_t kReadsToPack = 48, kFarReadsToPack = 12;

/// What decides between loads lane by lane: of near elements several share a line, or a page.
/// Chosen: less than any difference between instructions (not measured).
constexpr double kFar = 1e-3;

double far(int64_t stride) {
  return kFar * std::bit_width(static_cast<uint64_t>(std::abs(stride)));
}

bool indexed_by_variables(const Access& a) {
  for (size_t i = 0; i < a.indices.size(); ++i) {
    const std::string name = plain_var(a.indices[i]);
    if (name.empty()) return false;
    for (size_t j = 0; j < i; ++j) {
      if (plain_var(a.indices[j]) == name) return false;
    }
  }
  return true;
}

/// True where `var` is one index by itself, and no other has to do with it.
bool indexed_by(const Access& a, const std::string& var) {
  const auto mentions = [&](const ir::Expr& e) { return ir::mentions_var(e, var); };
  const auto alone = [&](const ir::Expr& e) { return plain_var(e) == var; };
  return std::count_if(a.indices.begin(), a.indices.end(), mentions) == 1 &&
         std::any_of(a.indices.begin(), a.indices.end(), alone);
}

/// True of a temporary that another rule has made as a copy.
bool copied_at_root(const ir::Program& program, const std::string& buffer) {
  const ir::Stage* s = program.producer(buffer);
  return s && s->reduce == ir::Reduce::kNone && s->at.root() && s->value->op == ir::Op::kLoad &&
         !s->value->guarded;
}

/// What the elements past the last whole vector cost, per vector of points. Without masks they are
/// pieces of vectors, whose partial results go into lanes of a register and out of it.
double rest_of_lanes(const Plan& plan, int64_t lanes, int64_t extent, int64_t reduced) {
  const bool once = reduced <= extent;  // a result: other loops do not go on from it
  if (once || plan.target().has(ir::Isa::kAvx512) || extent < 1) return 0;
  int64_t width = lanes;
  while (width > 2 && width / 2 >= extent) width /= 2;
  const int pieces = std::popcount(static_cast<uint64_t>(extent % width));
  return vector_cost::kPiece * pieces * static_cast<double>(lanes) / static_cast<double>(extent);
}

/// True when each tensor is read again along some index variable: a tile of registers would save
/// most of its loads.
bool reused_by_tiles(const ir::Stage& s, const StageFacts& facts) {
  constexpr int64_t kRows = 4;  // of a tile at least. Tuned on: Zen 5 (AVX-512).
  for (const Access& a : facts.loads) {
    bool again = false;
    for (const ir::IndexVar& v : s.vars) {
      again |= a.stride(v.name) == 0 && facts.extent(v.name) >= kRows;
    }
    if (!again) return false;
  }
  return true;
}

/// Upper bound of the values of `var` for which the first indices lie inside a tensor.
int64_t indices_inside(const ir::Program& program, const ir::Buffer& b,
                       const std::vector<ir::Expr>& indices, const std::string& var) {
  int64_t most = std::numeric_limits<int64_t>::max();
  for (size_t d = 0; d < b.shape.size(); ++d) {
    const auto index = affine_of(indices[d]);
    if (!index || !index->terms.contains(var)) continue;
    const int64_t step = std::abs(index->terms.at(var));
    most = std::min(most, (typical(program, b.shape[d]) + step - 1) / step);
  }
  return most;
}

/// Part of the vectors along a reduction's `var` in which some lane of a guarded load lies inside.
/// Others are known to read nothing.
double part_inside(const Plan& plan, const Access& a, const std::string& var, int64_t extent,
                   int lanes) {
  const ir::Buffer& b = *plan.program().buffer(a.buffer);
  const int64_t inside = indices_inside(plan.program(), b, a.indices, var);
  const int64_t vectors = (extent + lanes - 1) / lanes;
  const int64_t reading = std::min(vectors, inside / lanes + 1);
  return static_cast<double>(reading) / static_cast<double>(std::max<int64_t>(vectors, 1));
}

}  // namespace

int64_t steps_inside(const ir::Program& program, const ir::Expr& e, const std::string& var) {
  constexpr int64_t kAll = std::numeric_limits<int64_t>::max();
  switch (e->op) {
    case ir::Op::kLoad: {
      const ir::Buffer& b = *program.buffer(e->name);
      return e->guarded ? indices_inside(program, b, e->args, var) : kAll;
    }
    case ir::Op::kMul: {
      const int64_t a = steps_inside(program, e->args[0], var);
      const int64_t b = steps_inside(program, e->args[1], var);
      // Nothing times a float may be NaN: the term is computed all the same.
      return is_float(e->type) ? std::max(a, b) : std::min(a, b);
    }
    case ir::Op::kCast:
    case ir::Op::kNeg:
      return steps_inside(program, e->args[0], var);
    default:
      return kAll;
  }
}

int64_t reads_of_copy(const Plan& plan, const std::string& stage, const Access& a) {
  const ir::Buffer& b = *plan.program().buffer(a.buffer);
  const int64_t copied = bytes_of(plan.program(), b) / size_of(b.type);
  // It serves every window, so reads count over the whole domain.
  const StageFacts facts = facts_of(plan.program(), plan.stage(stage));
  int64_t reads = 1, all = 1;
  for (const auto& [var, extent] : facts.extents) {
    all = saturating_product(all, extent);
    int64_t turns = a.stride(var) == 0 ? 1 : 0;
    if (a.chosen.contains(var)) {
      turns = 1;
      for (const ir::Expr& e : a.indices) {
        turns = std::min(std::lcm(turns, remainders_repeat(e, var)), std::max<int64_t>(extent, 1));
      }
    }
    if (turns > 0) reads = saturating_product(reads, std::max<int64_t>(extent / turns, 1));
  }
  return std::min(reads, all / std::max<int64_t>(copied, 1));
}

bool is_short_table(const Plan& plan, const Access& a) {
  // As many registers of floats, and pieces of 16 bytes, as selection keeps a table in.
  constexpr int64_t kRegisters = 4, kBytes = 256;  // Fixed by: those of jit/x86/select/tables.
  const int64_t most = a.element_bytes < 4 ? kBytes : kRegisters * plan.machine().vector_bytes;
  const ir::Buffer& b = *plan.program().buffer(a.buffer);
  return chosen_by_data(a) && bytes_of(plan.program(), b) <= most;
}

double cost_of_load(const Plan& plan, const Access& a, const std::string& var) {
  if (a.chosen.contains(var) && is_short_table(plan, a)) return vector_cost::kShuffled;
  return vector_cost::load(plan.machine(), a, var);
}

bool worth_packing(const Plan& plan, const std::string& stage, const Access& a,
                   const std::string& along) {
  const ir::Buffer* b = plan.program().buffer(a.buffer);
  const bool bound = is_bound(plan.program(), *b);
  const bool whole = !a.gathers && !a.guarded && indexed_by_variables(a);
  const bool divided = a.gathers && !chosen_by_data(a);
  if (!whole && !((bound || divided) && indexed_by(a, along) && !chosen_by_data(a))) return false;
  if (b->role == ir::Role::kTemp && !copied_at_root(plan.program(), a.buffer)) return false;
  // Where one element stands for many, a copy would hold all of these.
  const auto is_none = [](const ir::Expr& stride) {
    int64_t step = 0;
    return ir::is_const(stride, &step) && step == 0;
  };
  if (std::any_of(b->strides.begin(), b->strides.end(), is_none)) return false;
  // Panels already, as another reader wants them.
  if (b->axes.size() > b->shape.size()) return false;
  if (bound) return true;
  const int64_t reads = reads_of_copy(plan, stage, a);
  // Steps of a page and more miss the TLB every time: fewer reads pay for the copy.
  int64_t step = 0;
  for (const ir::IndexVar& r : plan.stage(stage).rvars) {
    step = std::max(step, a.stride(r.name) * size_of(b->type));
  }
  return reads >= (step >= plan.machine().page_bytes ? kFarReadsToPack : kReadsToPack);
}

bool panels_for_others(const Plan& plan, const Access& a) {
  const ir::Buffer& b = *plan.program().buffer(a.buffer);
  return !is_bound(plan.program(), b) && readers_of(plan.program(), a.buffer).size() > 1;
}

std::vector<std::string> run_of(const ir::Stage& s, const StageFacts& facts,
                                const std::string& var) {
  std::vector<std::string> run;
  int64_t extent = facts.extent(var);
  for (size_t i = s.rvars.size(); i-- > 1;) {
    const ir::IndexVar &inner = s.rvars[i], &outer = s.rvars[i - 1];
    if (run.empty() && inner.name != var) continue;
    bool goes_on = ir::is_const(inner.hi) && !inner.lo && !outer.lo;
    for (const Access& a : facts.loads) {
      goes_on =
          goes_on && !a.guarded && !a.gathers && a.stride(outer.name) == a.stride(var) * extent;
    }
    if (!goes_on) break;
    run.push_back(outer.name);
    extent = saturating_product(extent, facts.extent(outer.name));
  }
  return run;
}

VectorAxis vector_axis(const Plan& plan, const std::string& name, const Access& store,
                       bool may_pack) {
  const ir::Stage& s = plan.stage(name);
  const StageFacts& facts = plan.facts(name);
  const int lanes = plan.lanes(widest_type(plan.program(), s));
  const bool reused = may_pack && reused_by_tiles(s, facts);
  VectorAxis best;
  best.cost = 1e30;
  const auto consider = [&](const std::string& var, bool reduction) {
    VectorAxis axis{var, reduction, "", vector_cost::dear(facts.operations)};
    int64_t extent = facts.extent(var);
    if (reduction) {
      for (const std::string& outer : run_of(s, facts, var)) {
        extent = saturating_product(extent, facts.extent(outer));
      }
    }
    const int64_t reduced = facts.points(s.rvars);
    for (const Access& a : facts.loads) {
      const int64_t stride = a.stride(var);
      const bool apart = stride != 0 && stride != 1;
      const bool packs = apart && may_pack && !reduction && !panels_for_others(plan, a);
      if (packs && axis.packed.empty() && worth_packing(plan, name, a, var)) {
        axis.packed = a.buffer;
        axis.cost += kPacked;
      } else {
        const double read = cost_of_load(plan, a, var) + (apart ? far(stride) : 0);
        // Which terms lie inside differs from result to result.
        axis.cost += reduction && a.guarded
                         ? (read + vector_cost::kTested) * part_inside(plan, a, var, extent, lanes)
                         : read;
      }
    }
    const double results = static_cast<double>(std::max<int64_t>(reduced, 1));
    if (reduction) {
      axis.cost += reused ? kNoTile : 0;
    } else if (store.stride(var) != 1) {
      axis.cost += vector_cost::kScatter / results;
    }
    // Lanes beyond the extent do nothing, nor do terms beyond a border. An axis of no steps at all
    // fills none either: a reduction over nothing still stores its results.
    extent = std::max<int64_t>(extent, 1);
    const int64_t filled = (extent + lanes - 1) / lanes * lanes;
    if (reduction) extent = std::min(extent, steps_inside(plan.program(), s.value, var));
    axis.cost *= static_cast<double>(filled) / static_cast<double>(std::max<int64_t>(extent, 1));
    if (reduction) axis.cost += vector_cost::horizontal(s) * lanes / results;
    if (reduction) axis.cost += rest_of_lanes(plan, lanes, extent, reduced);
    if (axis.cost < best.cost - 1e-9) best = axis;
  };
  for (const ir::IndexVar& v : s.vars) {
    if (!facts.bounds.count(v.name)) consider(v.name, false);
  }
  for (const ir::IndexVar& v : s.rvars) consider(v.name, true);
  return best;
}

std::string cheapest_index(const Plan& plan, const std::string& name, const std::string& usual) {
  // Cost along another index, as a part of that along the usual one, that is worth stores apart.
  // Tuned on: Zen 5 (AVX-512).
  constexpr double kWorth = 0.7;
  // Lanes that elements one by one are counted for. Fixed by: f32 in 64 bytes.
  constexpr double kLanesApart = 16;
  if (usual.empty() || hosts_stages(plan, name)) return usual;
  const ir::Stage& s = plan.stage(name);
  const StageFacts& facts = plan.facts(name);
  const int lanes = plan.lanes(widest_type(plan.program(), s));
  const double apart = std::max(1.0, lanes / kLanesApart);
  const auto cost_along = [&](const std::string& var) {
    const int64_t extent = std::max<int64_t>(facts.extent(var), 1);
    const int64_t vectors = (extent + lanes - 1) / lanes;
    const double filled = static_cast<double>(extent) / static_cast<double>(vectors * lanes);
    double cost = facts.operations;
    for (const Access& a : facts.loads) {
      const double load = cost_of_load(plan, a, var);
      const bool gathers = load >= vector_cost::kGather;
      cost += std::min(gathers ? load * apart : load,
                       std::max(1.0, vector_cost::kGather * apart * filled));
    }
    cost += facts.store.stride(var) == 1 ? 1 : vector_cost::kScatter * apart * filled;
    return cost * static_cast<double>(vectors) / static_cast<double>(extent);
  };
  std::string best = usual;
  double least = kWorth * cost_along(usual);
  for (const ir::IndexVar& v : s.vars) {
    if (v.name == usual || facts.bounds.count(v.name) || facts.extent(v.name) <= 1) continue;
    const double cost = cost_along(v.name);
    if (cost >= least) continue;
    best = v.name;
    least = cost;
  }
  return best;
}

bool reduces_along_vector(const Plan& plan, const std::string& name) {
  if (plan.stage(name).reduce == ir::Reduce::kNone) return false;
  return vector_axis(plan, name, plan.facts(name).store, true).reduction;
}

}  // namespace hone::schedules
