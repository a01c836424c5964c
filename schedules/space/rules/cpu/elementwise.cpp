// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <numeric>

#include "schedules/space/analysis/axis.h"
#include "schedules/space/analysis/periods.h"
#include "schedules/space/analysis/shape.h"
#include "schedules/space/rules/rule.h"

namespace hone::schedules {
namespace {

/// Instructions of one iteration of the vector loop that unrolling may reach.
/// Tuned on: Zen 5 (AVX-512).
constexpr int kBody = 192;
/// Vectors that one iteration may have.
/// Fixed by: loops over vectors, as instruction selection lays them out.
constexpr int64_t kMostVectors = 16;

/// Members of structures that are read together.
/// Fixed by: shuffles of structures.
constexpr int64_t kMostMembers = 4;

/// The longest loop along which no load moves that is lane by lane along `v`: around the vectors it
/// has these loaded once. "" where there is none, or the result goes to memory in its order.
std::string loop_of_still_loads(const Plan& plan, const ir::Stage& s, const StageFacts& facts,
                                const std::string& v) {
  if (bytes_of(plan.program(), *plan.program().buffer(s.output)) > plan.machine().l3) return {};
  std::vector<Access> apart;
  for (const Access& a : facts.loads) {
    if (vector_cost::load(plan.machine(), a, v) >= vector_cost::kGather) apart.push_back(a);
  }
  std::string best;
  for (const ir::IndexVar& w : s.vars) {
    const bool still = std::all_of(apart.begin(), apart.end(), [&](const Access& a) {
      return a.stride(w.name) == 0 && !a.chosen.contains(w.name);
    });
    if (w.name == v || !still || facts.extent(w.name) <= 1) continue;
    if (best.empty() || facts.extent(w.name) > facts.extent(best)) best = w.name;
  }
  return apart.empty() ? std::string() : best;
}

/// An index of a few values that lie side by side where steps of `v` skip over them: the members of
/// structures. "" where there is none.
std::string members_along(const Plan& plan, const ir::Stage& s, const StageFacts& facts,
                          const std::string& v) {
  for (const ir::IndexVar& w : s.vars) {
    const int64_t extent = facts.extent(w.name);
    if (w.name == v || extent < 2 || extent > kMostMembers || !ir::is_const(w.hi)) continue;
    const bool all = std::any_of(facts.loads.begin(), facts.loads.end(), [&](const Access& a) {
      return !a.guarded && a.stride(w.name) == 1 && a.stride(v) == extent &&
             vector_cost::is_spread(plan.machine(), a, v);
    });
    if (all && facts.store.stride(v) == 1) return w.name;
  }
  return {};
}

bool apply_elementwise(Plan& plan, const std::string& name) {
  const ir::Stage s = plan.stage(name);
  if (s.reduce != ir::Reduce::kNone) return plan.declines("the stage reduces");
  if (s.vars.empty()) return plan.declines("the stage has no loops");
  const StageFacts facts = plan.facts(name);
  std::string v = contiguous_var(plan, name);
  if (v.empty() || facts.store.stride(v) != 1) v = nearest_var(plan, name);
  v = cheapest_index(plan, name, v);
  if (v.empty()) return plan.declines("each of its loops has one iteration");
  const int lanes = plan.lanes(widest_type(plan.program(), s));
  std::vector<std::string> order;
  int64_t extent = facts.extent(v);
  if (const int64_t period = period_along(facts, v, lanes)) {
    order.push_back(plan.split(name, v, period, ir::Tail::kPeel).outer);
    if (order[0].empty()) return false;
    extent = period;
  }
  const int64_t vectors = (extent + lanes - 1) / lanes;
  const int64_t body = facts.operations + static_cast<int64_t>(facts.loads.size()) + 2;
  int64_t unroll = std::clamp<int64_t>(std::min<int64_t>(vectors, kBody / body), 1, 4);
  // Whole blocks, or the row, after which quotients repeat: lanes know what they read.
  const int64_t repeats = steps_to_repeat(facts, v);
  const int64_t block = std::clamp<int64_t>(std::lcm<int64_t>(repeats, lanes) / lanes, 1,
                                            std::max<int64_t>(vectors, 1));
  if (unroll % block != 0 && block <= kMostVectors) unroll = block;
  // Loops of two iterations are not cut at borders.
  const bool clamped = std::any_of(facts.loads.begin(), facts.loads.end(), [&](const Access& a) {
    return a.slow.contains(v) && meets_border(a, v);
  });
  if (vectors <= 2 * unroll && vectors <= kMostVectors && clamped) unroll = vectors;
  if (vectors <= unroll) {
    order.push_back(plan.loop_of(name, v));
    if (!order_by_memory(plan, name, order)) return false;
    if (!plan.add(step::vectorize({name, plan.loop_of(name, v)}))) return false;
    plan.finish(name);
    return true;
  }
  const Number factor =
      plan.knob(knob_name("u", name), {lanes, 2 * lanes, 4 * lanes, 8 * lanes}, unroll * lanes);
  const Plan::Halves h = plan.split(name, v, factor, ir::Tail::kPeel);
  if (h.outer.empty()) return false;
  const std::string members = members_along(plan, s, facts, v);
  std::string still = members.empty() ? loop_of_still_loads(plan, s, facts, v) : "";
  const bool keeps = !still.empty();
  const int64_t parts = 2 * static_cast<int64_t>(plan.machine().threads);
  if (keeps && plan.machine().threads > 1 && facts.extent(still) >= 2 * parts) {
    // Each thread loads them once.
    const int64_t part = (facts.extent(still) + parts - 1) / parts;
    const Plan::Halves of_threads = plan.split(name, still, part, ir::Tail::kPeel);
    if (of_threads.outer.empty()) return false;
    order.push_back(of_threads.outer);
    still = of_threads.inner;
  }
  order.push_back(h.outer);
  if (keeps) order.push_back(plan.loop_of(name, still));
  if (!members.empty()) order.push_back(members);
  order.push_back(h.inner);
  if (!order_by_memory(plan, name, order)) return false;
  if (!members.empty() && !plan.add(step::unroll({name, members}))) return false;
  if (!plan.add(step::vectorize({name, h.inner}))) return false;
  if (!keeps) spread(plan, name);
  plan.finish(name);
  return true;
}

}  // namespace

const Rule cpu::kElementwise = {
    "elementwise",
    "A stage without reduction runs its contiguous axis as vectors, a few an iteration. Without "
    "one it is the axis along which neighbours lie nearest. Where that leaves lanes idle, or "
    "values "
    "are dear, it is the one that costs least. It goes in periods of the remainders in indices.",
    apply_elementwise,
};

}  // namespace hone::schedules
