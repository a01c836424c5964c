// SPDX-License-Identifier: Apache-2.0
#include "schedules/space/analysis/transposed_chains.h"

#include <algorithm>
#include <utility>

#include "schedules/space/analysis/crossing.h"
#include "schedules/space/analysis/shape.h"
#include "schedules/space/analysis/transposed_parts.h"
#include "schedules/steps/build.h"
#include "schedules/steps/edit.h"

namespace hone::schedules {
namespace {

/// Vectors of chains that run in turn, so that one goes on while another waits for its results.
/// Tuned on: Zen 3, filters of two taps: 26 us, one vector 35 us.
constexpr int64_t kVectorsInTurn = 2;
/// Bytes between rows whose lines fall into one set of the nearest cache.
/// Fixed by: the first-level caches of x86, of 64 sets of 64 bytes.
constexpr int64_t kOneSet = 4096;

/// Whether several vectors of chains find room in the near caches.
bool takes_turns(const Plan& plan, const StageFacts& facts, const std::string& chain,
                 const std::string& along, int64_t lanes, int64_t bytes) {
  const int64_t most = kVectorsInTurn * lanes;
  return facts.extent(chain) >= most && facts.store.stride(chain) * bytes % kOneSet != 0 &&
         most * facts.extent(along) * bytes <= plan.machine().l2 / 4;
}

/// Moves the results to a tensor in which neighbours along `chain` are neighbours in memory.
/// Returns its name, "" where the step does not apply.
std::string to_own_tensor(Plan& plan, const std::string& name, const std::string& chain) {
  const ir::Stage s = plan.stage(name);
  std::vector<LayoutAxis> layout;
  for (const ir::Expr& e : s.out_index) {
    const std::string var = plain_var(e);
    if (var.empty()) return "";
    if (var != chain) layout.push_back({var});
  }
  layout.push_back({chain});
  std::string made = plan.fresh_stage(s.output + ".c");
  return plan.add(step::cache_write(name, made, std::move(layout))) ? made : "";
}

/// The chains of one vector, step by step; what they read is transposed square by square.
bool run(Plan& plan, const std::string& made, const std::string& chain, const std::string& along,
         int64_t lanes) {
  const TransposedParts parts = transposed_parts(plan, made, chain);
  if (!parts.values.empty() && parts.read == along) return transpose_parts(plan, made, parts);
  const auto cut = plan.split(made, along, lanes, ir::Tail::kPeel);
  const std::string vector = plan.loop_of(made, chain);
  plan.finish(made);
  return !cut.outer.empty() && order_by_memory(plan, made, {cut.outer, cut.inner, vector}) &&
         plan.add(step::unroll({made, cut.inner})) && plan.add(step::vectorize({made, vector}));
}

bool apply(Plan& plan, const std::string& name, const std::vector<std::string>& chains,
           const std::string& along) {
  const std::string& chain = chains.back();
  const std::string made = to_own_tensor(plan, name, chain);
  if (made.empty()) return false;
  const auto crossing = crossing_of(plan, name, along);
  if (!crossing || crossing->tensor != made) return false;
  std::vector<std::string> outer(chains.begin(), chains.end() - 1);
  for (const std::string& other : outer) plan.set_window(made, other, 1);
  const int64_t lanes = crossing->side;
  const int64_t bytes = size_of(plan.program().buffer(made)->type);
  const bool turns = takes_turns(plan, plan.facts(name), chain, along, lanes, bytes);
  size_t block = outer.size();
  if (turns) {
    const Number rows =
        plan.knob(knob_name("u", name), {lanes, 2 * lanes, 4 * lanes}, kVectorsInTurn * lanes);
    const Plan::Halves h = plan.split(name, chain, rows, ir::Tail::kPeel);
    if (h.outer.empty()) return false;
    outer.push_back(h.outer);
  }
  if (!transpose_in_registers(plan, name, *crossing, outer)) return false;
  if (!plan.add(step::compute({made}, {name, plan.stage(name).loops[block].name}))) return false;
  plan.set_window(made, chain, turns ? kVectorsInTurn * lanes : lanes);
  if (!run(plan, made, chain, along, crossing->side)) return false;
  // What stands before the first element is a test in the first steps alone.
  for (const ir::Loop& l : plan.stage(made).loops) {
    if (roots_of(plan.stage(made), l.name) != std::vector{along}) continue;
    return plan.add(step::partition({{made, l.name}}));
  }
  return true;
}

}  // namespace

bool transpose_chains(Plan& plan, const std::string& name, const std::vector<std::string>& chains,
                      const std::string& along) {
  const StageFacts facts = plan.facts(name);
  const DType widest = widest_type(plan.program(), plan.stage(name));
  const int64_t lanes = plan.lanes(widest);
  if (chains.empty() || facts.store.stride(along) != 1) {
    return plan.declines("its chains do not run along memory");
  }
  if (facts.extent(chains.back()) < lanes || facts.extent(along) < 2 * lanes) {
    return plan.declines("its chains are too few or too short for squares of " +
                         std::to_string(lanes));
  }
  if (lanes * size_of(widest) * facts.extent(along) > plan.machine().l2) {
    return plan.declines("a vector of its chains is larger than the second-level cache");
  }
  if (plan.decide("chains of " + name + " in lanes", 2, 1) == 0) {
    return plan.declines("its chains were decided to run one by one");
  }
  Plan::Mark before = plan.mark();
  if (apply(plan, name, chains, along)) return true;
  plan.rewind(std::move(before));
  return false;
}

}  // namespace hone::schedules
