// SPDX-License-Identifier: Apache-2.0
#include "schedules/space/analysis/results_tile.h"

#include <algorithm>

#include "schedules/space/analysis/shape.h"

namespace hone::schedules {
namespace {

/// Results along a side at most.
/// Tuned on: Zen 5 (AVX-512).
constexpr int64_t kMostSide = 8;
/// Part of the cycles without a tile that are left at most.
/// Chosen: room for the estimate's error (not measured).
constexpr double kWorth = 0.8;

/// Cycles that a load takes besides, of those that start instructions and of farther caches.
/// Tuned on: Zen 5 (AVX-512).
constexpr double kLoadToo = 0.2;

/// Cycles of one vector of each result of a tile.
double cycles_of_tile(const Plan& plan, const StageFacts& facts,
                      const std::vector<TileSide>& sides) {
  double points = 1, loads = 0;
  for (const TileSide& side : sides) points *= static_cast<double>(side.results);
  for (const Access& a : facts.loads) {
    double vectors = 1;
    for (const TileSide& side : sides) {
      if (a.stride(side.var) != 0) vectors *= static_cast<double>(side.results);
    }
    loads += vectors;
  }
  return std::max(loads / plan.machine().load_ports, points / plan.machine().arithmetic_ports) +
         kLoadToo * loads;
}

/// Cycles of one vector of all results along the sides: of whole tiles, and of what is left over.
double cycles_of_all(const Plan& plan, const StageFacts& facts, std::vector<TileSide> sides,
                     size_t from = 0) {
  if (from == sides.size()) return cycles_of_tile(plan, facts, sides);
  const int64_t extent = facts.extent(sides[from].var), whole = sides[from].results;
  double cycles = static_cast<double>(extent / whole) * cycles_of_all(plan, facts, sides, from + 1);
  sides[from].results = extent % whole;
  if (extent % whole) cycles += cycles_of_all(plan, facts, sides, from + 1);
  return cycles;
}

/// True of a stage whose results may be computed side by side: no load is a matter of data.
bool is_plain(const ir::Stage& s, const StageFacts& facts) {
  return !s.where && std::none_of(facts.loads.begin(), facts.loads.end(),
                                  [](const Access& a) { return a.guarded || chosen_by_data(a); });
}

/// True of an index along which a tile may lie: its loops are unrolled, the last one's as well.
bool may_be_side(const ir::IndexVar& v, const StageFacts& facts) {
  return !v.lo && ir::is_const(v.hi) && facts.extent(v.name) > 1;
}

/// True when each operand is read once for several results. What is read for one alone is best read
/// in the order in which it lies.
bool reuses_all(const StageFacts& facts, const std::vector<TileSide>& sides) {
  return std::all_of(facts.loads.begin(), facts.loads.end(), [&](const Access& a) {
    return std::any_of(sides.begin(), sides.end(), [&](const TileSide& side) {
      return side.results > 1 && a.stride(side.var) == 0;
    });
  });
}

std::vector<TileSide> sides_of(const TileSide& a, const TileSide& b) {
  return a.var == b.var ? std::vector<TileSide>{a} : std::vector<TileSide>{a, b};
}

/// The accumulators, a row of one operand and a vector of another are all in registers.
bool fits(const Plan& plan, const TileSide& a, const TileSide& b) {
  return a.results * b.results + std::min(a.results, b.results) + 1 <=
         plan.target().vector_registers();
}

}  // namespace

ResultsTile results_tile(const Plan& plan, const std::string& name) {
  const ir::Stage& s = plan.stage(name);
  const StageFacts& facts = plan.facts(name);
  ResultsTile best;
  if (!is_plain(s, facts)) return best;
  std::vector<TileSide> most;  // of each index that may be a side
  for (const ir::IndexVar& v : s.vars) {
    if (!may_be_side(v, facts)) continue;
    most.push_back({v.name, std::min(kMostSide, facts.extent(v.name))});
  }
  for (size_t i = 0; i < most.size(); ++i) {
    for (size_t j = i; j < most.size(); ++j) {  // beside itself: a tile of one side
      TileSide a{most[i].var, 1}, b{most[j].var, 1};
      const double alone = cycles_of_all(plan, facts, sides_of(a, b));
      for (a.results = 1; a.results <= most[i].results; ++a.results) {
        const int64_t other = i == j ? 1 : most[j].results;
        for (b.results = 1; b.results <= other && fits(plan, a, b); ++b.results) {
          const double part = cycles_of_all(plan, facts, sides_of(a, b)) / alone;
          if (part >= std::min(best.part, kWorth)) continue;
          if (reuses_all(facts, sides_of(a, b))) best = {sides_of(a, b), part};
        }
      }
    }
  }
  std::erase_if(best.sides, [](const TileSide& side) { return side.results == 1; });
  return best;
}

std::vector<TileSide> side_by_side(const Plan& plan, const std::string& name, int64_t results) {
  const ir::Stage& s = plan.stage(name);
  const StageFacts& facts = plan.facts(name);
  if (results < 2 || !is_plain(s, facts)) return {};
  TileSide best;
  auto fewest = static_cast<std::ptrdiff_t>(facts.loads.size());
  for (const ir::IndexVar& v : s.vars) {
    const auto moved = std::count_if(facts.loads.begin(), facts.loads.end(),
                                     [&](const Access& a) { return a.stride(v.name) != 0; });
    if (!may_be_side(v, facts) || moved >= fewest) continue;
    fewest = moved;
    best = {v.name, std::min(results, facts.extent(v.name))};
  }
  return best.var.empty() ? std::vector<TileSide>() : std::vector<TileSide>{best};
}

}  // namespace hone::schedules
