// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "schedules/space/analysis/shape.h"
#include "schedules/space/rules/rule.h"
#include "schedules/steps/edit.h"

namespace hone::schedules {
namespace {

/// Elements of a group that vectors are interleaved for, and bytes of it.
/// Fixed by: what instruction selection stores in groups.
constexpr int64_t kFewest = 2, kMost = 4, kMostBytes = 16;
/// Vectors of each element of a group in one iteration.
/// Tuned on: Zen 5 (AVX-512).
constexpr int64_t kVectors = 1;

/// The index whose steps go on where a group ends; "" where there is none that fills a vector.
std::string index_of_groups(const ir::Stage& s, const StageFacts& facts, int64_t group, int lanes) {
  for (const ir::IndexVar& v : s.vars) {
    if (facts.store.stride(v.name) == group && facts.extent(v.name) >= lanes) return v.name;
  }
  return {};
}

bool apply_interleave(Plan& plan, const std::string& name) {
  const ir::Stage s = plan.stage(name);
  if (s.reduce != ir::Reduce::kNone || s.where) return plan.declines("the stage is no plain one");
  if (!s.relations.empty()) return plan.declines("its loops are split or fused already");
  if (!s.at.root() || hosts_stages(plan, name)) {
    return plan.declines("its loops stand in another stage's, or hold another's");
  }
  const StageFacts facts = plan.facts(name);
  const std::string inner = contiguous_var(plan, name);
  if (inner.empty() || facts.store.stride(inner) != 1 || !ir::is_const(s.var(inner)->hi)) {
    return plan.declines("no index of a known extent runs along memory in the result");
  }
  const int64_t group = facts.extent(inner);
  const ir::Buffer& to = *plan.program().buffer(s.output);
  const bool stored = group >= kFewest && group <= kMost &&
                      group * size_of(to.type) <= kMostBytes && to.type != DType::kBool;
  if (!stored) return plan.declines("rows along " + inner + " are no groups of a few elements");
  const int lanes = plan.lanes(to.type);
  const std::string outer = index_of_groups(s, facts, group, lanes);
  if (outer.empty()) return plan.declines("no index goes on where " + inner + " ends");
  bool runs = false;
  for (const Access& a : facts.loads) {
    const int64_t stride = a.stride(outer);
    if (a.guarded || (stride != 0 && stride != 1)) {
      return plan.declines("it reads " + a.buffer + " not along " + outer + ", or beyond its ends");
    }
    runs |= stride == 1 && a.stride(inner) != 1;
  }
  if (!runs) return plan.declines("no tensor that it reads runs along " + outer);
  if (plan.decide("groups of " + name + " interleaved", 2, 1) == 0) {
    return plan.declines("its groups were decided to be stored apart");
  }
  // The last groups reach back into those before, where nothing reads them by then.
  const ir::Tail tail = reads(s, s.output) ? ir::Tail::kPeel : ir::Tail::kOverlap;
  const Number width =
      plan.knob(knob_name("u", name), {lanes / 2, lanes, 2 * lanes}, kVectors * lanes);
  const Plan::Halves h = plan.split(name, outer, width, tail);
  if (h.outer.empty() || !order_by_memory(plan, name, {h.outer, h.inner, inner})) return false;
  if (!plan.add(step::vectorize({name, h.inner}))) return false;
  if (!plan.add(step::unroll({{name, inner}}))) return false;
  spread(plan, name);
  plan.finish(name);
  return true;
}

}  // namespace

const Rule cpu::kInterleave = {
    "interleave",
    "Results that lie in groups of a few elements, of tensors that run along the groups, are "
    "computed as a vector for each element of the group. They are interleaved as they are stored.",
    apply_interleave,
};

}  // namespace hone::schedules
