// SPDX-License-Identifier: Apache-2.0
#include "schedules/steps/separate.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "schedules/space/analysis/axis.h"
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

/// Name of the index of positions.
constexpr const char* kPosition = "x";
/// Terms of windows that are few, so that loops know of each where it lies outside.
/// Tuned on: Zen 5 (AVX-512, AVX2).
constexpr int64_t kFewTerms = 16;
/// Terms of all results up to which that is so.
/// Tuned on: Zen 5 (AVX2).
constexpr int64_t kFewIterations = 1 << 15;
/// Terms along an index beside vectors that are so few that loops know of each where it is outside.
/// Tuned on: Zen 5 (AVX-512, AVX2); pooling over borders.
constexpr int64_t kKnownTerms = 3;

double positions_of(const StageFacts& facts, const Windows& windows) {
  return static_cast<double>(windows.stride * (facts.extent(windows.result) - 1) +
                             windows.spacing * (facts.extent(windows.reduced) - 1) + 1);
}

/// The part of the positions of windows that lies inside.
double part_inside(const Plan& plan, const StageFacts& facts, const Windows& windows) {
  const int64_t inside = steps_inside(plan.program(), windows.value, kPosition);
  return static_cast<double>(inside) / positions_of(facts, windows);
}

/// True where positions of windows lie outside for the most part.
bool mostly_outside(const Plan& plan, const StageFacts& facts, const Windows& windows) {
  return 2 * part_inside(plan, facts, windows) < 1;
}

/// The windows of a stage along each index that has any.
std::vector<Windows> all_windows(const Plan& plan, const std::string& name) {
  std::vector<Windows> out;
  const ir::Stage& s = plan.stage(name);
  for (const ir::IndexVar& v : s.rvars) {
    Windows w = windows_along(plan.program(), s, v.name, kPosition);
    if (w.wrong.empty()) out.push_back(std::move(w));
  }
  return out;
}

/// True where loops over all terms at once are rid of most. Positions along `last` lie outside, and
/// terms are so few that each is known to. Results may be many where other positions do as well.
bool hardly_inside(const Plan& plan, const StageFacts& facts, const std::vector<Windows>& windows,
                   const Windows& last) {
  int64_t terms = 1;
  bool others = false;
  for (const Windows& w : windows) {
    terms = saturating_product(terms, facts.extent(w.reduced));
    others |= w.reduced != last.reduced && mostly_outside(plan, facts, w);
  }
  const bool small = facts.points(facts.extents) <= kFewIterations;
  return terms <= kFewTerms && (small || others) && mostly_outside(plan, facts, last);
}

/// The part of the terms along indices beside `last` that loops are not rid of.
double part_of_terms(const Plan& plan, const StageFacts& facts, const std::vector<Windows>& windows,
                     const Windows& last) {
  double part = 1;
  for (const Windows& w : windows) {
    const bool known = w.reduced != last.reduced && facts.extent(w.reduced) <= kKnownTerms;
    if (known && mostly_outside(plan, facts, w)) part *= part_inside(plan, facts, w);
  }
  return part;
}

/// What a result costs, its windows in one loop and in two.
struct WindowCosts {
  double together = 0, apart = 0;
};

/// `part`: of the terms along other indices, those that lie inside.
WindowCosts window_costs(const Plan& plan, const std::string& name, const Windows& windows,
                         double part) {
  const ir::Stage& s = plan.stage(name);
  const StageFacts& facts = plan.facts(name);
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
  // Loops are cut where terms lie outside, and those cost nothing.
  const auto steps = [&](const std::string& var) {
    const int64_t most = steps_inside(plan.program(), s.value, var);
    return static_cast<double>(std::min(facts.extent(var), most));
  };
  const double terms = steps(windows.reduced);
  double others = part;
  for (const ir::IndexVar& v : s.rvars) {
    if (v.name != windows.reduced) others *= steps(v.name);
  }
  const double positions = positions_of(facts, windows);
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
  const std::vector<Windows> windows = all_windows(plan, name);
  const StageFacts facts = plan.facts(name);
  const auto stride = [&](const Windows& w) { return facts.store.stride(w.result); };
  const auto last =
      std::min_element(windows.begin(), windows.end(),
                       [&](const Windows& a, const Windows& b) { return stride(a) < stride(b); });
  if (last == windows.end()) return plan.declines("its terms are no windows along an index");
  const Windows& best = *last;
  if (facts.extent(best.result) < 2) return plan.declines("one result shares no window");
  const WindowCosts costs =
      window_costs(plan, name, best, part_of_terms(plan, facts, windows, best));
  const bool worth = costs.apart <= kWorthSeparating * costs.together &&
                     !hardly_inside(plan, facts, windows, best);
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
