// SPDX-License-Identifier: Apache-2.0
#include "schedules/steps/separate.h"

#include <string>

#include "schedules/space/analysis/shape.h"
#include "schedules/space/rules/rule.h"

namespace hone::schedules {
namespace {

/// Cost of a vector of terms in the nearest cache: where it is a line, and where it lies across
/// two. Most vectors of a window along them do. Then gathered out of several, where windows move by
/// more than an element, and the same across a border. Tuned on: Zen 5 (AVX-512).
constexpr double kOneLine = 1, kAcross = 1.7, kStrided = 3, kStridedBorder = 4.5;
/// The part of its loads that a loop over all terms makes, where rows share the others.
/// Tuned on: Zen 5 (AVX-512).
constexpr double kUnshared = 0.5;
/// Cost of combining it with a running value; of floats' extremes, which NaN has to win.
/// Chosen: instructions (not measured).
constexpr double kCombine = 1, kFloatExtreme = 2;
/// Cost of all terms in one loop, up to which partial results are worth their stage.
/// Tuned on: Zen 5 (AVX-512).
constexpr double kWorthSeparating = 0.85;

/// What a result costs, its windows in one loop and in two.
struct WindowCosts {
  double together = 0, apart = 0;
};

WindowCosts window_costs(const Plan& plan, const std::string& name, const Windows& windows) {
  const ir::Stage s = plan.stage(name);
  const StageFacts facts = plan.facts(name);
  const bool along = facts.store.stride(windows.result) == 1;
  bool strided = false, border = false;
  for (const Access& a : facts.loads) {
    strided |= along && a.stride(windows.result) > 1;
    border |= along && a.guarded;
  }
  const bool extreme = s.reduce == ir::Reduce::kMax || s.reduce == ir::Reduce::kMin;
  const double combine = extreme && is_float(s.accumulate) ? kFloatExtreme : kCombine;
  const double again = strided ? kStrided : along ? kAcross : kOneLine;
  const double at_once = strided ? (border ? kStridedBorder : kStrided) : kUnshared * again;
  const double first =
      border && !strided ? 2 * kOneLine : kOneLine;  // rows begin before their lines
  const auto results = static_cast<double>(facts.extent(windows.result));
  const auto terms = static_cast<double>(facts.extent(windows.reduced));
  double others = 1;
  for (const ir::IndexVar& v : s.rvars) {
    if (v.name != windows.reduced) others *= static_cast<double>(facts.extent(v.name));
  }
  const double positions = windows.stride * (results - 1) + windows.spacing * (terms - 1) + 1;
  WindowCosts out;
  out.together = terms * others * (at_once + combine);
  out.apart =
      positions / results * (others * (first + combine) + kOneLine) + terms * (again + combine);
  return out;
}

bool apply_separate(Plan& plan, const std::string& name) {
  const ir::Stage s = plan.stage(name);
  if (s.reduce == ir::Reduce::kNone) return plan.declines("the stage does not reduce");
  if (s.rvars.size() < 2) return plan.declines("it reduces one index");
  // Windows along neighbours in memory are the last to be reduced: what comes before are vectors.
  Windows best;
  int64_t stride = 0;
  const StageFacts facts = plan.facts(name);
  for (const ir::IndexVar& v : s.rvars) {
    Windows w = windows_along(plan.program(), s, v.name, "x");
    if (!w.wrong.empty()) continue;
    const int64_t own = facts.store.stride(w.result);
    if (stride != 0 && own >= stride) continue;
    stride = own;
    best = std::move(w);
  }
  if (stride == 0) return plan.declines("its terms are no windows along an index");
  const WindowCosts costs = window_costs(plan, name, best);
  const bool worth = costs.apart <= kWorthSeparating * costs.together;
  if (plan.decide("windows of " + name + " one index at a time", 2, worth ? 1 : 0) == 0) {
    return plan.declines(worth ? "its windows were decided to be reduced at once"
                               : "its windows cost least at once");
  }
  const std::string partial = plan.fresh_stage(name + ".s");
  if (!plan.add(step::separate({name, best.reduced}, partial))) return false;
  apply_separate(plan, partial);
  return true;
}

}  // namespace

const Rule cpu::kSeparate = {
    "separate",
    "A reduction over windows along several indices reduces one after the other, so that results "
    "share what their windows have in common, where that saves.",
    apply_separate,
};

}  // namespace hone::schedules
