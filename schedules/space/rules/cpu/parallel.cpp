// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <set>

#include "schedules/space/analysis/shape.h"
#include "schedules/space/rules/rule.h"
#include "schedules/steps/edit.h"

namespace hone::schedules {
namespace {

/// Whether a stage is computed or kept at the loop.
bool hosts_stages_at(const Plan& plan, const std::string& name, const std::string& loop) {
  const ir::Place here{name, loop};
  const auto& stages = plan.program().stages;
  return std::any_of(stages.begin(), stages.end(), [&](const ir::Stage& other) {
    return other.at == here || other.store == here;
  });
}

/// Loops of one iteration in front of the first longer one go inside it: they leave threads nothing
/// to share. Those that a call may make longer stay where a stage is computed in the longer one:
/// all of their iterations would be computed there.
void skip_single(Plan& plan, const std::string& name) {
  const ir::Stage s = plan.stage(name);
  size_t longer = 0;
  bool always = true;
  for (; longer < s.loops.size(); ++longer) {
    const ir::Expr extent = extent_of(s, s.loops[longer].name);
    if (typical(plan.program(), extent) != 1) break;
    if (hosts_stages_at(plan, name, s.loops[longer].name)) return;
    always = always && ir::is_const(extent);
  }
  if (longer == 0 || longer == s.loops.size()) return;
  const ir::Loop& first = s.loops[longer];
  if (!always && hosts_stages_at(plan, name, first.name)) return;
  if (first.mark != ir::Mark::kSerial || is_reduction(s, first.name)) return;
  const std::vector<std::string> roots = roots_of(s, first.name);
  for (size_t i = 0; i < longer; ++i) {
    for (const std::string& root : roots_of(s, s.loops[i].name)) {
      if (std::find(roots.begin(), roots.end(), root) != roots.end()) return;  // of one split
    }
  }
  std::vector<std::string> rest;
  for (const ir::Loop& l : s.loops) {
    if (l.name != first.name) rest.push_back(l.name);
  }
  order_loops(plan, name, rest);
}

/// Where what threads save is within this factor of waking them, both ways are tried.
/// Tuned on: Zen 4 (AVX-512).
constexpr double kInDoubt = 4;

/// Instructions of all points of a stage and of those computed inside it; the bytes they touch.
struct Touched {
  double instructions = 0;
  std::set<std::string> buffers;
};

void add_effort(const Plan& plan, const std::string& name, Touched& effort) {
  const ir::Stage& s = plan.stage(name);
  const StageFacts facts = facts_of(plan.program(), s);
  const auto points = static_cast<double>(facts.points(facts.extents));
  const bool vectors = std::any_of(s.loops.begin(), s.loops.end(),
                                   [](const ir::Loop& l) { return l.mark == ir::Mark::kVector; });
  const double each = facts.operations + static_cast<double>(facts.loads.size()) + 1;
  effort.instructions += points * each / (vectors ? plan.lanes(widest_type(plan.program(), s)) : 1);
  effort.buffers.insert(s.output);
  for (const Access& a : facts.loads) effort.buffers.insert(a.buffer);
  for (const ir::Stage& other : plan.program().stages) {
    if (other.at.stage == name) add_effort(plan, other.name, effort);
  }
}

/// What a launch takes on one thread, about.
double cycles_of(const Plan& plan, const std::string& name) {
  Touched effort;
  add_effort(plan, name, effort);
  double bytes = 0;
  for (const std::string& b : effort.buffers) {
    // Tensors kept inside the loops are small and stay in a near cache.
    const ir::Stage* made = plan.program().producer(b);
    if (made && !made->at.root()) continue;
    bytes += static_cast<double>(bytes_of(plan.program(), *plan.program().buffer(b)));
  }
  return std::max(effort.instructions / plan.machine().arithmetic_ports,
                  bytes / plan.machine().memory_bytes);
}

/// True where threads save more of a launch than waking them takes. More threads take longer to
/// wake, about as a tree of wakers does.
bool pays(Plan& plan, const std::string& name, int64_t parts) {
  const auto threads = static_cast<double>(std::min<int64_t>(plan.machine().threads, parts));
  if (threads <= 1) return true;  // the mark does nothing
  const double saved = cycles_of(plan, name) * (1 - 1 / threads);
  const double wake = plan.machine().cycles_to_wake_thread * std::log2(threads);
  const bool worth = saved >= wake;
  if (saved < wake / kInDoubt || saved > wake * kInDoubt) return worth;
  return plan.decide("threads for " + name, 2, worth ? 1 : 0) == 1;
}

bool apply_launch(Plan& plan, const std::string& name) {
  if (!plan.stage(name).at.root()) return plan.declines("the stage is computed inside another");
  skip_single(plan, name);
  const ir::Stage s = plan.stage(name);
  if (s.loops.empty()) return plan.declines("the stage has no loops");
  const ir::Loop& outermost = s.loops.front();
  if (is_reduction(s, outermost.name)) {
    return plan.declines("its outermost loop " + outermost.name + " is reduced");
  }
  if (outermost.mark != ir::Mark::kSerial) {
    return plan.declines("its outermost loop " + outermost.name + " is marked " +
                         std::string(ir::name_of(outermost.mark)));
  }
  if (!pays(plan, name, typical(plan.program(), extent_of(s, outermost.name)))) {
    return plan.declines("threads would save less than waking them takes");
  }
  return plan.add(step::parallel({name, outermost.name}));
}

}  // namespace

const Rule cpu::kParallel = {
    "parallel",
    "The outermost loop of a stage at the root, of more than one iteration where there is one, "
    "runs in parallel, unless it is reduced or a vector, or there is too little work for threads.",
    apply_launch,
    /*forwards=*/false,
    /*ordered=*/true,
};

}  // namespace hone::schedules
