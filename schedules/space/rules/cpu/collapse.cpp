// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "schedules/space/analysis/axis.h"
#include "schedules/space/analysis/shape.h"
#include "schedules/space/rules/rule.h"

namespace hone::schedules {
namespace {

/// Lanes that may be idle, as a part of those at work.
/// Tuned on: Zen 4 (AVX-512).
constexpr double kIdle = 0.05;
/// Cycles of the stage, per element copied, that a copy must save.
/// Tuned on: Zen 4 (AVX-512).
constexpr double kSaved = 2;

/// True where the stage reads or writes neighbours along `var`.
bool contiguous(const StageFacts& facts, const std::string& var) {
  return facts.store.stride(var) == 1 ||
         std::any_of(facts.loads.begin(), facts.loads.end(),
                     [&](const Access& a) { return a.stride(var) == 1; });
}

/// A copy of `a` in which `outer` goes on where `inner` ends. False, and `plan` told why, where it
/// would not pay.
bool copy_running_on(Plan& plan, const std::string& stage, const Access& a,
                     const std::string& outer, const std::string& inner) {
  const ir::Stage s = plan.stage(stage);
  const StageFacts facts = plan.facts(stage);
  const std::string apart =
      "index " + outer + " does not go on in " + a.buffer + " where " + inner + " ends, and ";
  if (a.stride(outer) == 0 || a.stride(inner) == 0) {
    return plan.declines(apart + "only one of them moves along it");
  }
  if (!worth_packing(plan, stage, a)) return plan.declines(apart + "it is not worth a copy");
  const int lanes = plan.lanes(widest_type(plan.program(), s));
  double reads = idle_lanes(facts.extent(inner), lanes);
  for (const auto& [var, extent] : facts.extents) {
    if (a.stride(var) == 0) reads *= static_cast<double>(std::max<int64_t>(extent, 1));
  }
  if (reads / (plan.machine().arithmetic_ports * lanes) < kSaved) {
    return plan.declines(apart + "a copy costs more than idle lanes");
  }
  std::vector<LayoutAxis> layout, reduced, last(2);
  for (size_t d = 0; d < a.indices.size(); ++d) {
    const std::string var = plain_var(a.indices[d]);
    if (var == outer || var == inner) {
      last[var == inner] = {dim_name(d)};
    } else {
      (s.is_reduction_var(var) ? reduced : layout).push_back({dim_name(d)});
    }
  }
  layout.insert(layout.end(), reduced.begin(), reduced.end());
  layout.insert(layout.end(), last.begin(), last.end());
  return plan.add(
      step::stage(a.buffer, {}, plan.fresh_stage(a.buffer + ".c"), {.layout = std::move(layout)}));
}

/// Makes one of the two, with copies of what does not run on. False, nothing changed and `plan`
/// told why, where they cannot be.
bool collapse(Plan& plan, const std::string& name, const std::string& outer,
              const std::string& inner) {
  const StageFacts facts = plan.facts(name);
  const int64_t extent = facts.extent(inner);
  if (facts.store.stride(inner) == 0 || !runs_on(facts.store, outer, inner, extent)) {
    return plan.declines("index " + outer + " does not go on in the result where " + inner +
                         " ends");
  }
  Plan::Mark before = plan.mark();
  bool runs = true;
  for (const Access& a : facts.loads) {
    runs =
        runs && (runs_on(a, outer, inner, extent) || copy_running_on(plan, name, a, outer, inner));
  }
  if (runs && plan.add(step::collapse({name, outer}, {name, inner}, outer + "." + inner))) {
    if (plan.decide("collapse " + outer + " and " + inner + " of " + name, 2, 1) == 1) return true;
    plan.declines("indices " + outer + " and " + inner + " were decided to stay two");
  }
  plan.rewind(std::move(before));
  return false;
}

/// Makes one index of two where the inner one leaves lanes idle. False, and `plan` told why, where
/// there are no such two.
bool collapse_any(Plan& plan, const std::string& name) {
  const ir::Stage s = plan.stage(name);
  const StageFacts facts = plan.facts(name);
  const int lanes = plan.lanes(widest_type(plan.program(), s));
  plan.declines("no index along memory leaves lanes idle");
  for (const ir::IndexVar& inner : s.vars) {
    if (!contiguous(facts, inner.name) || idle_lanes(facts.extent(inner.name), lanes) <= kIdle)
      continue;
    plan.declines("no other index of two values is there to join " + inner.name);
    for (const ir::IndexVar& outer : s.vars) {
      if (outer.name == inner.name || facts.extent(outer.name) <= 1) continue;
      if (collapse(plan, name, outer.name, inner.name)) return true;
    }
  }
  return false;
}

/// The indices of a stage that have several values.
int64_t wide_indices(const Plan& plan, const std::string& name) {
  const StageFacts& facts = plan.facts(name);
  const std::vector<ir::IndexVar> vars = plan.stage(name).vars;
  return std::count_if(vars.begin(), vars.end(),
                       [&](const ir::IndexVar& v) { return facts.extent(v.name) > 1; });
}

bool apply_collapse(Plan& plan, const std::string& name) {
  for (bool any = false;; any = true) {
    Plan::Mark before = plan.mark();
    const int64_t wide = wide_indices(plan, name);
    if (!collapse_any(plan, name)) return any;
    if (wide_indices(plan, name) < wide) continue;
    plan.rewind(std::move(before));
    return any;
  }
}

}  // namespace

const Rule cpu::kCollapse = {
    "collapse",
    "Two indices that run on in memory, of which the inner one leaves lanes idle, become one; "
    "what does not run on is copied first, where it is read often.",
    apply_collapse,
};

}  // namespace hone::schedules
