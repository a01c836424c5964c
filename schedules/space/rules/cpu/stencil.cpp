// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdlib>
#include <set>
#include <utility>
#include <vector>

#include "schedules/space/analysis/shape.h"
#include "schedules/space/rules/rule.h"

namespace hone::schedules {
namespace {

/// Rows that one iteration computes.
/// Tuned on: Zen 4 (AVX-512).
constexpr int64_t kRowsAtATime = 4;
/// The part of its loads that an iteration of as many rows has to make, at most.
/// Tuned on: Zen 4 (AVX-512).
constexpr double kLoadsLeft = 0.8;
/// Loads of a point from which they are what binds.
/// Chosen: more than the ports take beside a store (not measured).
constexpr size_t kManyLoads = 4;

/// Where a load lies besides its variables: the tensor, and a constant for each dim.
using Spot = std::pair<std::string, std::vector<int64_t>>;

/// The spots that `rows` values of `var` one after the other load from; none where an index is no
/// sum of variables.
std::set<Spot> spots_of(const StageFacts& facts, const std::string& var, int64_t rows) {
  std::set<Spot> out;
  for (const Access& a : facts.loads) {
    for (int64_t row = 0; row < rows; ++row) {
      Spot spot{a.buffer, {}};
      for (const ir::Expr& index : a.indices) {
        const auto affine = affine_of(index);
        if (!affine) return {};
        int64_t at = affine->constant;
        for (const auto& [name, coefficient] : affine->terms) {
          if (name == var) at += row * coefficient;
          spot.first += " " + name + " " + std::to_string(coefficient);
        }
        spot.first += ",";
        spot.second.push_back(at);
      }
      out.insert(std::move(spot));
    }
  }
  return out;
}

/// True where values of `var` that follow each other load the same elements of a tensor that moves
/// with it.
bool shifts(const StageFacts& facts, const std::string& var) {
  size_t moving = 0;
  StageFacts only = facts;
  only.loads.clear();
  for (const Access& a : facts.loads) {
    if (a.stride(var) == 0) continue;
    only.loads.push_back(a);
    ++moving;
  }
  return moving > 1 && spots_of(only, var, 2).size() < 2 * moving;
}

/// The variable whose rows share most loads; "" where they share few. Of several the one whose rows
/// lie furthest apart, since caches hold those of others longer.
std::string shared_along(const Plan& plan, const std::string& name, const std::string& vector) {
  const StageFacts& facts = plan.facts(name);
  const size_t all = facts.loads.size() * static_cast<size_t>(kRowsAtATime);
  auto fewest = static_cast<size_t>(kLoadsLeft * static_cast<double>(all));
  std::string best;
  const auto apart = [&](const std::string& var) { return std::abs(facts.store.stride(var)); };
  for (const ir::IndexVar& v : plan.stage(name).vars) {
    if (v.name == vector || facts.extent(v.name) < 2 * kRowsAtATime) continue;
    if (!shifts(facts, v.name)) continue;
    const size_t left = spots_of(facts, v.name, kRowsAtATime).size();
    if (left == 0 || left > fewest) continue;
    if (left == fewest && !best.empty() && apart(v.name) < apart(best)) continue;
    fewest = left;
    best = v.name;
  }
  return best;
}

bool apply_stencil(Plan& plan, const std::string& name) {
  const ir::Stage s = plan.stage(name);
  if (s.reduce != ir::Reduce::kNone) return plan.declines("the stage reduces");
  if (!s.relations.empty()) return plan.declines("its loops are split or fused already");
  if (!s.at.root() || hosts_stages(plan, name)) {
    return plan.declines("its loops stand in another stage's, or hold another's");
  }
  const StageFacts facts = plan.facts(name);
  if (facts.loads.size() < kManyLoads) {
    return plan.declines("a point has " + std::to_string(facts.loads.size()) + " loads");
  }
  const std::string v = contiguous_var(plan, name);
  const int64_t lanes = plan.lanes(widest_type(plan.program(), s));
  if (v.empty() || facts.store.stride(v) != 1 || facts.extent(v) <= lanes) {
    return plan.declines("no index fills vectors along memory in the result");
  }
  const std::string row = shared_along(plan, name, v);
  if (row.empty()) return plan.declines("rows that follow each other share few loads");
  if (plan.decide("rows of " + name + " share loads", 2, 1) == 0) {
    return plan.declines("its rows were decided to be one by one");
  }
  const auto rows = plan.split(
      name, row, plan.knob(knob_name("rows", name), {2, 4, 8}, kRowsAtATime), ir::Tail::kPeel);
  if (rows.outer.empty()) return false;
  const auto vectors =
      plan.split(name, v, plan.knob(knob_name("u", name), {lanes, 2 * lanes, 4 * lanes}, lanes),
                 ir::Tail::kPeel);
  if (vectors.outer.empty()) return false;
  if (!order_loops(plan, name, {vectors.outer, rows.inner, vectors.inner})) return false;
  if (!plan.add(step::unroll({name, rows.inner}))) return false;
  if (!plan.add(step::vectorize({name, vectors.inner}))) return false;
  spread(plan, name);
  plan.finish(name);
  return true;
}

}  // namespace

const Rule cpu::kStencil = {
    "stencil",
    "Where rows that follow each other load the same elements, as a stencil's do, a few rows are "
    "computed at a time, and each element is loaded once for them.",
    apply_stencil,
};

}  // namespace hone::schedules
