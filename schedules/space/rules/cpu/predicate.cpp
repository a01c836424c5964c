// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <set>
#include <string>

#include "schedules/space/analysis/axis.h"
#include "schedules/space/analysis/facts.h"
#include "schedules/space/rules/rule.h"
#include "schedules/steps/edit.h"

namespace hone::schedules {
namespace {

/// Terms of a result, about, from which its range is worth sharing: the last ones are tested.
/// Chosen: twice the rows of a tile (not measured).
constexpr int64_t kFewestTerms = 16;

/// True where a vector holds results of several ranges, or results of several read an element
/// together: `bounds` are the indices that ranges follow. Not where lanes are partial results.
bool gains(const Plan& plan, const std::string& name, const std::set<std::string>& bounds) {
  const StageFacts& facts = plan.facts(name);
  const VectorAxis axis = vector_axis(plan, name, facts.store, true);
  if (axis.var.empty() || axis.reduction) return false;
  return std::any_of(bounds.begin(), bounds.end(), [&](const std::string& v) {
    if (facts.extent(v) <= 1) return false;
    return v == axis.var ||
           std::any_of(facts.loads.begin(), facts.loads.end(),
                       [&](const Access& a) { return !a.gathers && a.stride(v) == 0; });
  });
}

bool apply_predicate(Plan& plan, const std::string& name) {
  const ir::Stage s = plan.stage(name);
  if (s.reduce == ir::Reduce::kNone) return plan.declines("the stage does not reduce");
  if (!s.relations.empty() || !s.at.root()) return plan.declines("its loops are cut already");
  const ir::IndexVar* bounded = bounded_by_results(s);
  if (!bounded) return plan.declines("all results reduce the same range");
  const StageFacts facts = plan.facts(name);
  if (facts.extent(bounded->name) < kFewestTerms) return plan.declines("a result has few terms");
  if (plan.decide("conditions for ends of ranges of " + name, 2, 1) == 0) {
    return plan.declines("its ranges were decided to stay as they are");
  }
  if (!plan.add(step::predicate({name, bounded->name}))) return false;
  if (!gains(plan, name, {facts.bounds.begin(), facts.bounds.end()})) {
    return plan.declines("results of several ranges share no vector, nor elements");
  }
  return true;
}

}  // namespace

const Rule cpu::kPredicate = {
    "predicate",
    "Where the range of a reduction follows an index of the results, its ends become conditions. "
    "A vector or a tile then takes results of several ranges.",
    apply_predicate,
};

}  // namespace hone::schedules
