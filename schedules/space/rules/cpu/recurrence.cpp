// SPDX-License-Identifier: Apache-2.0
#include "jit/ir/recurrence.h"

#include <algorithm>
#include <limits>

#include "jit/ir/scan.h"
#include "schedules/space/analysis/fronts.h"
#include "schedules/space/analysis/group_members.h"
#include "schedules/space/analysis/shape.h"
#include "schedules/space/analysis/transposed_chains.h"
#include "schedules/space/rules/rule.h"

namespace hone::schedules {
namespace {

/// Vectors of neighbouring chains that one step of the loop in order computes: enough to hide what
/// one result takes until the next can begin.
/// Tuned on: nothing; reckoned from an addition's four cycles and a store read back.
constexpr int64_t kChainVectors = 8;
/// Vectors of chains that lie far apart, side by side: each more is a stream of its own.
/// Tuned on: Zen 5 (AVX-512); 16 chains of 128 steps of one vector: 4 are 2.4 times faster than 1.
constexpr int64_t kStreams = 4;
/// Chains of single elements side by side, where neighbours lie apart.
/// Tuned on: nothing; reckoned as kChainVectors.
constexpr int64_t kChainsAside = 8;
/// Vectors of prefixes under way at a time: of chains side by side, or one after the other. These
/// wait for one combination, and for the store and the load between two iterations.
/// Tuned on: nothing; reckoned from the store, the load and the addition between two vectors.
constexpr int64_t kScansAside = 4;

/// Steps in one iteration, which find the results before in registers.
/// Tuned on: Zen 5, filters of two taps back. One chain: 8 steps 143 us, 4 steps 159, 1 step 262.
/// 16 chains: 8 steps 40 us, 4 steps 45, 1 step 77. 128 chains: 183 us, 181 and 227.
constexpr int64_t kStepsAtOnce = 8;
/// Nodes of the expressions of one iteration's steps.
/// Chosen: code that a compile may take (not measured).
constexpr int64_t kMostNodes = 1024;

/// The loops of a stage that are not among `some`, in their order.
std::vector<std::string> loops_without(const ir::Stage& s, const std::vector<std::string>& some) {
  std::vector<std::string> out;
  for (const ir::Loop& l : s.loops) {
    if (std::find(some.begin(), some.end(), l.name) == some.end()) out.push_back(l.name);
  }
  return out;
}

/// Chains that stand side by side: the loops over the others outside, then those in order, then
/// `inner`.
bool order_chains(Plan& plan, const std::string& name, const std::vector<std::string>& chains,
                  const std::vector<std::string>& inner) {
  std::vector<std::string> order = chains;
  std::vector<std::string> apart = chains;
  apart.insert(apart.end(), inner.begin(), inner.end());
  for (std::string& l : loops_without(plan.stage(name), apart)) order.push_back(std::move(l));
  order.insert(order.end(), inner.begin(), inner.end());
  return order_loops(plan, name, order);
}

/// Takes chains from the end of `chains` to stand beside `count` elements in each step of the loop
/// in order. Those that lie nearer than the next step are taken while a near cache holds the last
/// results, others while there are few vectors. Each thread keeps a part. Returns their loops.
std::vector<std::string> take_beside(Plan& plan, const std::string& name,
                                     std::vector<std::string>& chains, int64_t count) {
  const StageFacts facts = plan.facts(name);
  const DType widest = widest_type(plan.program(), plan.stage(name));
  const int64_t near = plan.machine().l1d / 4 / size_of(widest);
  int64_t step = std::numeric_limits<int64_t>::max();
  const std::vector<std::string> free = ir::independent_vars(plan.stage(name));
  for (const ir::IndexVar& v : plan.stage(name).vars) {
    if (std::find(free.begin(), free.end(), v.name) != free.end()) continue;
    step = std::min(step, std::abs(facts.store.stride(v.name)));
  }
  std::vector<std::string> beside;
  while (!chains.empty()) {
    const std::string v = chains.back();
    const int64_t extent = facts.extent(v);
    const bool nearer = std::abs(facts.store.stride(v)) < step;
    int64_t others = 1;
    for (size_t i = 0; i + 1 < chains.size(); ++i) others *= facts.extent(chains[i]);
    const int64_t parts = (plan.machine().threads + others - 1) / others;
    const int64_t fitting = nearer ? near : std::min(near, kStreams * plan.lanes(widest));
    const int64_t most = std::min(fitting / count, (extent + parts - 1) / parts);
    if (most < 2) break;
    if (most < extent) {
      const int64_t pieces = (extent + most - 1) / most;
      const Plan::Halves h = plan.split(name, v, (extent + pieces - 1) / pieces, ir::Tail::kPeel);
      if (h.outer.empty()) break;
      chains.back() = h.outer;
      beside.insert(beside.begin(), h.inner);
      break;
    }
    chains.pop_back();
    beside.insert(beside.begin(), plan.loop_of(name, v));
    count *= extent;
  }
  return beside;
}

/// Several steps of the one loop in order at once, of `aside` vectors or elements each.
bool take_steps(Plan& plan, const std::string& name, const std::vector<std::string>& ordered,
                int64_t aside) {
  if (ordered.size() != 1) return true;
  const auto nodes = static_cast<int64_t>(ir::tree_size(plan.stage(name).value));
  const int64_t extent = plan.facts(name).extent(ordered[0]);
  int64_t steps = kStepsAtOnce;
  while (steps > 1 && (steps * aside * nodes > kMostNodes || 2 * steps > extent)) steps /= 2;
  if (steps < 2) return true;
  const Number factor = plan.knob(knob_name("steps", name), {1, 2, 4, kStepsAtOnce}, steps);
  const Plan::Halves h = plan.split(name, ordered[0], factor, ir::Tail::kPeel);
  return !h.outer.empty() && plan.add(step::unroll({name, h.inner}));
}

/// Neighbouring chains as vectors; each thread has a strip of them, whose last results a near cache
/// holds.
bool run_vectors(Plan& plan, const std::string& name, std::vector<std::string> chains,
                 const std::string& v, const std::vector<std::string>& ordered) {
  const DType widest = widest_type(plan.program(), plan.stage(name));
  const int64_t extent = plan.facts(name).extent(v), lanes = plan.lanes(widest);
  const int64_t tile = std::clamp<int64_t>((extent + lanes - 1) / lanes, 1, kChainVectors) * lanes;
  const int64_t near = plan.machine().l1d / 4 / size_of(widest);
  const int64_t each = (extent + plan.machine().threads - 1) / plan.machine().threads;
  const int64_t strip = std::clamp(each, std::min(tile, near), std::max(tile, near));
  if (strip > tile && strip < extent) {
    const int64_t whole = (strip + tile - 1) / tile * tile;
    const Plan::Halves h = plan.split(name, v, whole, ir::Tail::kPeel);
    if (h.outer.empty()) return false;
    chains.push_back(h.outer);
  }
  if (tile >= extent) {
    const std::string loop = plan.loop_of(name, v);
    std::vector<std::string> inner = take_beside(plan, name, chains, extent);
    const bool alone = inner.empty();
    inner.push_back(loop);
    return order_chains(plan, name, chains, inner) && plan.add(step::vectorize({name, loop})) &&
           (!alone || take_steps(plan, name, ordered, tile / lanes));
  }
  const Number factor =
      plan.knob(knob_name("u", name), {lanes, 2 * lanes, 4 * lanes, 8 * lanes}, tile);
  const Plan::Halves h = plan.split(name, v, factor, ir::Tail::kPeel);
  if (h.outer.empty()) return false;
  // What a near cache holds of a step stays there until the next one.
  const bool near_by = strip > tile;
  if (!near_by) chains.push_back(h.outer);
  const std::vector<std::string> inner =
      near_by ? std::vector<std::string>{h.outer, h.inner} : std::vector<std::string>{h.inner};
  return order_chains(plan, name, chains, inner) && plan.add(step::vectorize({name, h.inner})) &&
         (near_by || take_steps(plan, name, ordered, tile / lanes));
}

/// Several chains side by side, each element by itself.
bool run_chains(Plan& plan, const std::string& name, std::vector<std::string> chains,
                const std::string& v, const std::vector<std::string>& ordered) {
  if (plan.facts(name).extent(v) < 2) {
    chains.push_back(v);
    return order_chains(plan, name, chains, {}) && take_steps(plan, name, ordered, 1);
  }
  const int64_t aside = std::min(kChainsAside, plan.facts(name).extent(v));
  const Number factor = plan.knob(knob_name("u", name), {2, 4, kChainsAside}, aside);
  const Plan::Halves h = plan.split(name, v, factor, ir::Tail::kPeel);
  if (h.outer.empty()) return false;
  chains.push_back(h.outer);
  return order_chains(plan, name, chains, {h.inner}) && plan.add(step::unroll({name, h.inner})) &&
         take_steps(plan, name, ordered, aside);
}

/// Whether lanes of a vector are to go on from one another along `v`.
bool scans(Plan& plan, const std::string& name, const std::string& v) {
  const StageFacts facts = plan.facts(name);
  const int lanes = plan.lanes(widest_type(plan.program(), plan.stage(name)));
  const bool can = !v.empty() && facts.store.stride(v) == 1 && facts.extent(v) >= 2 * lanes;
  return can && plan.decide("scan " + name + " in lanes of " + v, 2, 1) == 1;
}

/// Prefixes of lanes along `v`, of several chains side by side.
bool run_scan(Plan& plan, const std::string& name, std::vector<std::string> chains,
              const std::string& v) {
  const int64_t lanes = plan.lanes(widest_type(plan.program(), plan.stage(name)));
  const int64_t side = chains.empty() ? 1 : plan.facts(name).extent(chains.back());
  const int64_t aside = std::clamp<int64_t>(side, 1, kScansAside);
  const int64_t extent = plan.facts(name).extent(v);
  const int64_t row = std::min(kScansAside / aside, extent / lanes) * lanes;
  const Plan::Halves h = plan.split(name, v, row, ir::Tail::kPeel);
  if (h.outer.empty()) return false;
  std::vector<std::string> inner{h.outer};
  if (side > 1) {
    const Number factor = plan.knob(knob_name("u", name), {2, kScansAside, 8}, aside);
    const Plan::Halves c = plan.split(name, chains.back(), factor, ir::Tail::kPeel);
    if (c.outer.empty()) return false;
    chains.back() = c.outer;
    if (!plan.add(step::unroll({name, c.inner}))) return false;
    inner.push_back(c.inner);
  }
  inner.push_back(h.inner);
  if (!order_chains(plan, name, chains, inner)) return false;
  // What stands before the first element is a test in the first vector alone.
  const bool cut = extent < 2 * row || plan.add(step::partition({{name, h.outer}}));
  return cut && plan.add(step::vectorize({name, h.inner}));
}

/// The chains that are cut among threads: of the index with the most of them. "": none are.
std::string cut_chains(Plan& plan, const GroupMembers& group) {
  const int64_t threads = plan.machine().threads;
  std::string longest;
  const StageFacts facts = plan.facts(group.leader);
  for (const std::string& v : group.order.chains) {
    if (longest.empty() || facts.extent(v) > facts.extent(longest)) longest = v;
  }
  if (longest.empty() || threads < 2 || facts.extent(longest) < 2) return "";
  const int64_t each = (facts.extent(longest) + threads - 1) / threads;
  const Plan::Halves h = plan.split(group.leader, longest, each, ir::Tail::kPeel);
  if (h.outer.empty()) return "";
  for (const std::string& other : group.others) {
    if (plan.stage(other).var(longest)) plan.set_window(other, longest, each);
  }
  plan.set_window(group.leader, longest, each);
  return h.outer;
}

/// Steps of single elements along two indices: rows of them side by side, where chains are few and
/// each stage takes part in all steps. `order`: the loops around a step; `rest`: the variables of
/// chains inside.
bool fronts_of_steps(Plan& plan, const GroupMembers& group, const std::vector<std::string>& order,
                     const std::vector<std::string>& rest) {
  const auto& shared = group.order.shared;
  const size_t n = shared.size();
  const auto in_all = [&](size_t depth) { return depth == n; };
  const auto& depth = group.order.depth;
  if (n < 2 || !std::all_of(depth.begin(), depth.end(), in_all)) return false;
  std::vector<std::string> outer;
  for (const std::string& v : rest) {
    if (plan.facts(group.leader).extent(v) >= kChainsAside) return false;
    outer.push_back(plan.loop_of(group.leader, v));
    for (const std::string& other : group.others) {
      if (plan.stage(other).var(v)) plan.set_window(other, v, 1);
    }
  }
  outer.insert(outer.begin(), order.begin(), order.end() - static_cast<long>(n));
  for (size_t i = 0; i + 2 < n; ++i) outer.push_back(shared[i].var);
  return run_fronts(plan,
                    {group.leader, group.others, outer, shared[n - 2].var, shared[n - 1].var});
}

/// Stages that go on together: the leader's loops in order around what each step computes of all
/// of them. The others are stages like any other there, for the rules to come.
bool run_steps(Plan& plan, const GroupMembers& group) {
  const std::string& name = group.leader;
  for (const std::string& other : group.others) {
    for (const auto& [var, backward] : group.order.shared) plan.set_window(other, var, 1);
  }
  std::vector<std::string> order;
  if (std::string outer = cut_chains(plan, group); !outer.empty()) order.push_back(outer);
  for (const auto& [var, backward] : group.order.shared) order.push_back(var);
  const StageFacts facts = plan.facts(name);
  std::vector<std::string> rest;
  for (const ir::IndexVar& v : plan.stage(name).vars) {
    const std::string loop = plan.loop_of(name, v.name);
    if (std::find(order.begin(), order.end(), loop) == order.end()) rest.push_back(v.name);
  }
  std::stable_sort(rest.begin(), rest.end(), [&](const std::string& a, const std::string& b) {
    return std::abs(facts.store.stride(a)) > std::abs(facts.store.stride(b));
  });
  const std::string last = rest.empty() ? "" : rest.back();
  const bool vectors = !last.empty() && facts.store.stride(last) == 1 && facts.extent(last) > 1;
  if (!vectors && fronts_of_steps(plan, group, order, rest)) {
    plan.finish(name);
    return keep_near(plan, group);
  }
  for (const auto& [var, backward] : group.order.shared) plan.set_window(name, var, 1);
  if (!keep_near(plan, group)) return false;
  plan.finish(name);
  for (const std::string& v : rest) order.push_back(plan.loop_of(name, v));
  if (!vectors) return order_loops(plan, name, order);
  order.pop_back();
  const int64_t lanes = plan.lanes(widest_type(plan.program(), plan.stage(name)));
  if (facts.extent(last) <= lanes) {
    order.push_back(plan.loop_of(name, last));
  } else {
    const Plan::Halves h = plan.split(name, last, lanes, ir::Tail::kPeel);
    if (h.outer.empty()) return false;
    order.insert(order.end(), {h.outer, h.inner});
  }
  return order_loops(plan, name, order) && plan.add(step::vectorize({name, order.back()}));
}

bool apply_recurrence(Plan& plan, const std::string& name) {
  if (const GroupMembers group = led_by(plan, name)) return run_steps(plan, group);
  const ir::Stage s = plan.stage(name);
  if (!keeps_order(plan, name)) return plan.declines("the stage does not read itself");
  const StageFacts facts = plan.facts(name);
  std::vector<std::string> chains = ir::independent_vars(s);
  plan.finish(name);
  // One chain alone is no neighbour of another, wherever it lies in memory.
  std::stable_sort(chains.begin(), chains.end(), [&](const std::string& a, const std::string& b) {
    const bool one_a = facts.extent(a) == 1, one_b = facts.extent(b) == 1;
    if (one_a != one_b) return one_a;
    return std::abs(facts.store.stride(a)) > std::abs(facts.store.stride(b));
  });
  if (const std::string v = ir::scanned_var(s); scans(plan, name, v)) {
    return run_scan(plan, name, std::move(chains), v);
  }
  const std::vector<std::string> ordered = loops_without(s, chains);
  const bool beside =
      !chains.empty() && facts.store.stride(chains.back()) == 1 && facts.extent(chains.back()) > 1;
  const bool few = chains.empty() || facts.extent(chains.back()) < kChainsAside;
  if (few && !beside && ordered.size() >= 2) {
    std::vector<std::string> outer = chains;
    outer.insert(outer.end(), ordered.begin(), ordered.end() - 2);
    if (run_fronts(plan, {name, {}, outer, ordered.end()[-2], ordered.back()})) return true;
  }
  if (chains.empty()) return take_steps(plan, name, ordered, 1);
  if (ordered.size() == 1 && transpose_chains(plan, name, chains, ordered[0])) return true;
  const std::string nearest = chains.back();
  chains.pop_back();
  if (beside) return run_vectors(plan, name, std::move(chains), nearest, ordered);
  return run_chains(plan, name, std::move(chains), nearest, ordered);
}

}  // namespace

const Rule cpu::kRecurrence = {
    "recurrence",
    "A stage that reads itself: the indices along which it does run in order. Inside them "
    "neighbouring chains are vectors, or several run side by side; outside, chains are for "
    "threads. Where each element combines the one before with a term, its lanes are prefixes; "
    "other chains along memory are put into lanes by transposing in registers. Along two indices "
    "several rows go on side by side. "
    "Stages that read one another go on together, in the loops of the last of them.",
    apply_recurrence,
    /*forwards=*/false,
    /*ordered=*/true,
};

}  // namespace hone::schedules
