// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "jit/ir/scatter.h"
#include "jit/passes/lower.h"
#include "schedules/legal.h"
#include "schedules/space/analysis/group_members.h"
#include "schedules/space/rules/rule.h"
#include "schedules/space/space.h"

namespace hone::schedules {
namespace {

/// Stages of a program that rules look at.
/// Fixed by: time, since each stage is seen beside all others.
constexpr size_t kMostStages = 1024;

std::vector<std::string> stages_backwards(const Plan& plan) {
  std::vector<std::string> names;
  for (const ir::Stage& s : plan.program().stages) names.push_back(s.name);
  std::reverse(names.begin(), names.end());
  return names;
}

std::vector<std::string> stages_for(const Rule& rule, const Plan& plan) {
  std::vector<std::string> names = stages_backwards(plan);
  if (rule.forwards) std::reverse(names.begin(), names.end());
  return names;
}

/// The steps from the `first` on, `;` between.
std::string steps_from(const Plan& plan, size_t first) {
  std::string out;
  const std::vector<Step>& steps = plan.schedule().steps;
  for (size_t i = first; i < steps.size(); ++i) out += (out.empty() ? "" : "; ") + print(steps[i]);
  return out.empty() ? "no steps" : out;
}

/// Applies `rule` to `stage`; what a rule that gives up has done is undone. Adds to `trail`, which
/// may be null.
bool attempt(Plan& plan, const Rule& rule, const std::string& stage,
             std::vector<RuleTrial>* trail = nullptr) {
  Plan::Mark before = plan.mark();
  const size_t steps = plan.schedule().steps.size();
  const auto decided = static_cast<std::ptrdiff_t>(plan.decisions().size());
  plan.declines("");  // what gives up says why
  const bool scatters = !ir::scattered_vars(plan.stage(stage)).empty();
  const bool ordered = scatters || keeps_order(plan, stage);
  const bool applied =
      rule.ordered || !ordered
          ? rule.apply(plan, stage)
          : plan.declines(scatters
                              ? "terms of the stage tell where they go, and the rule does not look"
                              : "the stage reads itself, and the rule knows of no order to keep");
  if (trail) {
    const std::vector<Decision>& all = plan.decisions();
    trail->push_back({rule.name,
                      stage,
                      applied,
                      {all.begin() + decided, all.end()},
                      applied ? steps_from(plan, steps) : plan.why()});
  }
  if (!applied) plan.rewind(std::move(before));
  return applied;
}

void schedule_stages(Plan& plan, std::vector<RuleTrial>* trail) {
  // Stages that a rule makes are scheduled by it; consumers come first, so that producers find
  // the loops they are computed in.
  for (const std::string& name : stages_backwards(plan)) {
    if (plan.finished(name)) continue;
    for (const Rule* rule : stage_rules(plan.target())) {
      if (attempt(plan, *rule, name, trail)) break;
    }
  }
}

/// One structure: every rule once over the program, with what is left of `trials`. Adds to `trail`,
/// which may be null.
Plan derive(const ir::Program& program, const ir::Target& target, LaunchTrials& trials,
            std::vector<int> forced, std::vector<RuleTrial>* trail = nullptr) {
  Plan plan(program, target, trials, std::move(forced));
  if (target.vector_bytes() == 0 && !target.is_cuda()) return plan;  // the interpreter's
  if (!target.autoschedule.empty()) return plan;                     // Halide's own
  if (program.stages.size() > kMostStages) return plan;
  for (const Rule* rule : shaping_rules(plan.target())) {
    for (const std::string& name : stages_for(*rule, plan)) {
      if (plan.program().stage(name)) attempt(plan, *rule, name, trail);
    }
  }
  schedule_stages(plan, trail);
  for (const Rule* rule : finishing_rules(plan.target())) {
    for (const std::string& name : stages_backwards(plan)) attempt(plan, *rule, name, trail);
  }
  return plan;
}

/// The structure of the analytic decisions.
Plan derive(const ir::Program& program, const ir::Target& target, LaunchTrials& trials,
            std::vector<RuleTrial>* trail = nullptr) {
  trials.extend();
  return derive(program, target, trials, {}, trail);
}

/// The next smaller value of every knob; false where all have their least.
bool lower_values(const Schedule& structure, std::vector<int64_t>& values) {
  bool any = false;
  const std::vector<Knob> all = knobs(structure);
  for (size_t i = 0; i < all.size(); ++i) {
    int64_t next = values[i];
    for (const int64_t v : all[i].values) {
      if (v < values[i] && (next == values[i] || v > next)) next = v;
    }
    any = any || next != values[i];
    values[i] = next;
  }
  return any;
}

/// One structure in which every rule's steps were accepted when they were made.
Plan derive_cautiously(const ir::Program& program, const ir::Target& target,
                       const std::function<bool(const Schedule&)>& accepts) {
  LaunchTrials trials;
  trials.extend();
  Plan plan(program, target, trials);
  const auto try_rule = [&](const Rule& rule, const std::string& stage) {
    Plan::Mark before = plan.mark();
    const size_t steps = plan.schedule().steps.size();
    if (!attempt(plan, rule, stage)) return false;
    if (plan.schedule().steps.size() == steps || accepts(plan.analytic().schedule)) return true;
    plan.rewind(std::move(before));
    return false;
  };
  for (const Rule* rule : shaping_rules(target)) {
    for (const std::string& name : stages_for(*rule, plan)) {
      if (plan.program().stage(name)) try_rule(*rule, name);
    }
  }
  for (const std::string& name : stages_backwards(plan)) {
    bool done = plan.finished(name);
    for (const Rule* rule : stage_rules(target)) done = done || try_rule(*rule, name);
    if (!done && !target.is_cuda()) try_rule(cpu::kVectors, name);
  }
  for (const Rule* rule : finishing_rules(target)) {
    for (const std::string& name : stages_backwards(plan)) try_rule(*rule, name);
  }
  return plan;
}

std::vector<int> taken(const Plan& plan) {
  std::vector<int> out;
  for (const Decision& d : plan.decisions()) out.push_back(d.taken);
  return out;
}

void add_structure(std::vector<Space>& out, const Plan& plan) {
  for (const Space& s : out) {
    if (s.schedule == plan.schedule()) return;
  }
  out.push_back({plan.schedule(), plan.values()});
}

}  // namespace

std::vector<Space> derive_space(const ir::Program& program, const ir::Target& target, int most) {
  std::vector<Space> out;
  // Breadth first over decisions that differ from the analytic ones: near structures come first.
  // Several ways of deciding may come to one structure, and those ways are many.
  std::vector<std::vector<int>> open{{}};
  const auto ways = static_cast<size_t>(2 * most);
  LaunchTrials trials;
  for (size_t next = 0; next < std::min(open.size(), ways); ++next) {
    if (static_cast<int>(out.size()) >= most) break;
    const std::vector<int> forced = open[next];
    // The analytic structure has its own, all others together have as much again.
    if (next < 2) trials.extend();
    const Plan plan = derive(program, target, trials, forced);
    add_structure(out, plan);
    const std::vector<int> all = taken(plan);
    for (size_t at = forced.size(); at < all.size(); ++at) {
      for (int option = 0; option < plan.decisions()[at].options; ++option) {
        if (option == all[at]) continue;
        std::vector<int> other(all.begin(), all.begin() + static_cast<long>(at));
        other.push_back(option);
        open.push_back(std::move(other));
      }
    }
  }
  if (std::find_if(out.begin(), out.end(),
                   [](const Space& s) { return s.schedule.steps.empty(); }) == out.end()) {
    out.push_back({});
  }
  return out;
}

std::vector<RuleTrial> explain(const ir::Program& program, const ir::Target& target) {
  std::vector<RuleTrial> trail;
  LaunchTrials trials;
  derive(program, target, trials, &trail);
  return trail;
}

Scheduled analytic_schedule(const ir::Program& program, const ir::Target& target) {
  LaunchTrials trials;
  return derive(program, target, trials).analytic();
}

Schedule default_schedule(const ir::Program& program, const ir::Target& target) {
  Scheduled first = analytic_schedule(program, target);
  if (!find_illegal(first.program) && jit::lower(first.program, target)) return first.schedule;
  return fallback_schedule(program, target, [&](const Schedule& schedule) {
    const auto scheduled = apply(program, schedule);
    return scheduled && jit::lower(*scheduled, target);
  });
}

Schedule fallback_schedule(const ir::Program& program, const ir::Target& target,
                           const std::function<bool(const Schedule&)>& accepts) {
  constexpr int kNotches = 4;  // of knobs. Fixed by: time.
  LaunchTrials trials;
  const Plan plan = derive(program, target, trials);
  const Schedule structure = plan.schedule();
  std::vector<int64_t> values = plan.values();
  for (int notch = 0; notch < kNotches && lower_values(structure, values); ++notch) {
    Schedule smaller = fix(structure, values);
    if (accepts(smaller)) return smaller;
  }
  return derive_cautiously(program, target, accepts).analytic().schedule;
}

}  // namespace hone::schedules
