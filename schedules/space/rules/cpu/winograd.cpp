// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "schedules/space/analysis/shape.h"
#include "schedules/space/rules/rule.h"
#include "schedules/steps/filtered_windows.h"
#include "schedules/steps/toom_cook.h"

namespace hone::schedules {
namespace {

/// Results that are computed together along one index; 1: as they are defined.
/// Fixed by: what products of three taps combine.
constexpr int64_t kTogether[] = {1, 2, 3, 4};
/// Cycles that a vector of combinations takes, of data or of products.
/// Tuned on: an Intel server (AVX-512); 3x3 of 64 to 256 channels.
constexpr double kCombineNeighbours = 16;
/// Part of the cost that computing results together has to leave at most.
/// Chosen: room for the estimate's error (not measured).
constexpr double kWorthCombining = 0.85;
/// Multiply-adds of a vector that a core starts in a cycle.
/// Chosen: the units that most have (not measured).
constexpr double kUnits = 2;
/// Indices that are looked at together.
/// Chosen: windows have two or three (not measured).
constexpr size_t kMostIndices = 3;

/// An index along which windows move, and how many results are computed together along it.
struct Along {
  std::string reduced;
  FilteredWindows windows;
  int64_t together = 1;

  int64_t products() const { return together == 1 ? windows.taps : together + windows.taps - 1; }
};

/// What a stage costs with the results along some indices computed together.
class TransformCosts {
 public:
  TransformCosts(const Plan& plan, const ir::Stage& s, std::vector<Along> along)
      : plan_(plan), s_(s), facts_(plan.facts(s.name)), along_(std::move(along)) {}

  /// Cycles, where `together` results are computed together along each index.
  double of(const std::vector<int64_t>& together) {
    for (size_t i = 0; i < along_.size(); ++i) along_[i].together = together[i];
    const bool combined =
        std::any_of(together.begin(), together.end(), [](int64_t n) { return n > 1; });
    std::set<std::string> all;
    for (const auto* list : {&s_.vars, &s_.rvars}) {
      for (const ir::IndexVar& v : *list) all.insert(v.name);
    }
    const double lanes = plan_.lanes(s_.accumulate);
    const double products = points(all, false) / (kUnits * lanes);
    const double filter = points(vars_of(&FilteredWindows::filter), false);
    const double far =
        filter * size_of(s_.accumulate) <= static_cast<double>(plan_.machine().l2) / 2
            ? 0
            : filter * size_of(s_.accumulate) / plan_.machine().l3_bytes;
    if (!combined) return products + far;
    std::set<std::string> results;
    for (const ir::IndexVar& v : s_.vars) results.insert(v.name);
    double made = points(vars_of(&FilteredWindows::data), true) + points(results, true);
    if (!filter_is_bound()) made += filter;
    return products + far + kCombineNeighbours * made / lanes;
  }

 private:
  std::set<std::string> vars_of(std::vector<ir::Expr> FilteredWindows::*factors) const {
    std::set<std::string> out;
    for (const Along& a : along_) {
      for (const ir::Expr& f : a.windows.*factors) {
        ir::visit(f, [&](const ir::Expr& e) {
          if (e->op == ir::Op::kVar) out.insert(e->name);
        });
      }
    }
    return out;
  }

  /// Elements with these indices. `positions`: those of windows, where a tile has as many as it has
  /// products; else results count as tiles, and taps as products.
  double points(const std::set<std::string>& vars, bool positions) const {
    double out = 1;
    for (const std::string& v : vars) {
      auto extent = static_cast<double>(facts_.extent(v));
      for (const Along& a : along_) {
        const int64_t tiles = (facts_.extent(a.windows.result) + a.together - 1) / a.together;
        if (v == a.reduced) extent = positions ? 1 : static_cast<double>(a.products());
        if (v == a.windows.result && a.together > 1) {
          extent = static_cast<double>(tiles * (positions ? a.products() : 1));
        }
      }
      out *= extent;
    }
    return out;
  }

  bool filter_is_bound() const {
    for (const Along& a : along_) {
      for (const ir::Expr& f : a.windows.filter) {
        const bool open = ir::any_node(f, [&](const ir::Expr& e) {
          return e->op == ir::Op::kLoad &&
                 !is_bound(plan_.program(), *plan_.program().buffer(e->name));
        });
        if (open) return false;
      }
    }
    return true;
  }

  const Plan& plan_;
  const ir::Stage& s_;
  StageFacts facts_;
  std::vector<Along> along_;
};

/// The numbers of results along each index that cost least.
std::vector<int64_t> cheapest(TransformCosts& costs, const std::vector<Along>& along) {
  std::vector<int64_t> best(along.size(), 1), tried = best;
  double least = kWorthCombining * costs.of(best);
  const std::function<void(size_t)> choose = [&](size_t i) {
    if (i == along.size()) {
      const double cost = costs.of(tried);
      if (cost < least) least = cost, best = tried;
      return;
    }
    for (const int64_t n : kTogether) {
      if (n > 1 && n + along[i].windows.taps - 1 > kMostProducts) break;
      tried[i] = n;
      choose(i + 1);
    }
    tried[i] = 1;
  };
  choose(0);
  return best;
}

bool apply_winograd(Plan& plan, const std::string& name) {
  if (!plan.program().normwise) return plan.declines("errors have to be small beside each term");
  const ir::Stage s = plan.stage(name);
  std::vector<Along> along;
  for (const ir::IndexVar& v : s.rvars) {
    FilteredWindows windows = filtered_windows(plan.program(), s, v.name);
    if (windows.wrong.empty() && along.size() < kMostIndices) {
      along.push_back({v.name, std::move(windows)});
    }
  }
  if (along.empty()) return plan.declines("no filter goes along windows of it");
  TransformCosts costs(plan, s, along);
  const std::vector<int64_t> together = cheapest(costs, along);
  std::string stage = name;
  for (size_t i = 0; i < along.size(); ++i) {
    const auto options = static_cast<int>(std::size(kTogether));
    const int taken =
        plan.decide("results of " + name + " together along " + along[i].windows.result, options,
                    static_cast<int>(together[i]) - 1);
    if (kTogether[taken] == 1) continue;
    const std::string part = plan.fresh_stage(stage + ".w");
    if (plan.add(step::winograd({stage, along[i].reduced}, kTogether[taken], part)))
      stage = part + "m";
  }
  return stage != name || plan.declines("its results cost least one by one");
}

}  // namespace

const Rule cpu::kWinograd = {
    "winograd",
    "Neighbouring sums of products along windows are computed together from fewer products, where "
    "the problem admits their errors and that saves.",
    apply_winograd,
};

}  // namespace hone::schedules
