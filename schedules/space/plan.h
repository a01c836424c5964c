// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "jit/ir/machine.h"
#include "jit/ir/program.h"
#include "jit/ir/target.h"
#include "schedules/model/model.h"
#include "schedules/schedule.h"
#include "schedules/space/analysis/facts.h"
#include "schedules/space/launch_trials.h"
#include "schedules/steps/build.h"

namespace hone::schedules {

/// Knob values and structural decisions that a derivation makes; see Plan.
struct Decision {
  std::string what;
  int options = 2;
  int taken = 0;
};

/// A rule tried on a stage: its steps and decisions, or the reason why it added none.
struct RuleTrial {
  std::string rule;
  std::string stage;
  bool applied = false;
  std::vector<Decision> decisions;
  std::string what;  ///< steps, `;` between; else the reason
};

/// A schedule being derived: rules add steps, each applied to the program at once, so that later
/// rules see the structure that earlier ones made. Knobs stand in the steps by name; the program
/// under construction has their analytic values.
class Plan {
 public:
  /// `forced` decides the first structural decisions; later ones take their analytic option.
  Plan(ir::Program program, const ir::Target& target, LaunchTrials& trials,
       std::vector<int> forced = {});

  const ir::Program& program() const { return program_; }
  const ir::Target& target() const { return *target_; }
  const ir::Machine& machine() const { return machine_; }
  const ir::Stage& stage(const std::string& name) const { return *program_.stage(name); }
  /// Whether some stage reads itself, or what reads it.
  bool recurs() const { return recurs_; }
  /// A step made stages that read themselves: rules are to see that from now on.
  void goes_on() { recurs_ = true; }
  /// Facts of a stage; where it is computed inside another, with the extents of its window. They
  /// stay where they are until the plan changes.
  const StageFacts& facts(const std::string& stage) const;
  /// What one launch takes by the steps so far, or why it does not lower.
  Result<Work, ir::Reject> work_of(const std::string& launch) const;
  /// From now on `var` of `stage` runs over `extent` values at a time.
  void set_window(const std::string& stage, const std::string& var, int64_t extent);
  /// Marks a stage as scheduled, so that later rules leave it alone.
  void finish(const std::string& stage) { done_.insert(stage); }
  bool finished(const std::string& stage) const { return done_.count(stage) != 0; }

  /// Adds a step. False, and nothing changed, where it does not apply.
  bool add(Step step);
  /// The same of steps without knobs; only after the last one each read follows its write.
  bool add_together(const std::vector<Step>& steps);
  /// Keeps the reason why a rule does not apply. Always false, so that rules can return it.
  bool declines(std::string reason);
  /// The reason told last: a rule's own, or why its last step does not apply.
  const std::string& why() const { return why_; }
  /// A knob: its definition at first, a reference after. `value` is the analytic choice, and is
  /// all that is left of the knob where the domain has no other.
  Number knob(const std::string& name, std::vector<int64_t> domain, int64_t value);
  /// Splits the loop in which `var` still runs by `factor` into two with fresh names. Empty names
  /// where the split does not apply.
  struct Halves {
    std::string outer, inner;
  };
  Halves split(const std::string& stage, const std::string& var, Number factor,
               ir::Tail tail = ir::Tail::kMask);
  /// `name` where no stage or tensor has it; else with its last letter repeated until none has.
  std::string fresh_stage(std::string name) const;
  /// The innermost loop that carries `var`.
  std::string loop_of(const std::string& stage, const std::string& var) const;
  /// A structural decision among `options`; `analytic` unless forced.
  int decide(const std::string& what, int options, int analytic);

  /// State to come back to when a later step of a rule does not apply.
  struct Mark {
    ir::Program program;
    size_t steps = 0;
    size_t knobs = 0;
    std::map<std::string, std::map<std::string, int64_t>> windows;
    std::set<std::string> done;
  };
  Mark mark() const { return {program_, schedule_.steps.size(), names_.size(), windows_, done_}; }
  void rewind(Mark mark);

  /// The steps so far, with knobs.
  const Schedule& schedule() const { return schedule_; }
  /// The same at the analytic values of the knobs, and the program with those steps applied.
  Scheduled analytic() const { return {fix(schedule_, values_), program_}; }
  /// Analytic values of the knobs, in text order.
  std::vector<int64_t> values() const;
  const std::vector<Decision>& decisions() const { return decisions_; }

  /// Lanes of a vector of `type`; 1 without vectors.
  int lanes(DType type) const;

 private:
  void change(ir::Program program);
  bool keeps_facts(const std::string& stage, const StageFacts& facts,
                   const ir::Program& changed) const;

  ir::Program program_;
  const ir::Target* target_;
  LaunchTrials* trials_;
  ir::Machine machine_;
  Schedule schedule_;
  std::vector<std::string> names_;  ///< of knobs, in text order
  std::vector<int64_t> values_;
  std::vector<int> forced_;
  std::vector<Decision> decisions_;
  std::map<std::string, std::map<std::string, int64_t>> windows_;  ///< by stage, by variable
  std::set<std::string> done_;
  std::string why_;
  bool recurs_ = false;                              ///< some stage reads itself
  mutable std::map<std::string, StageFacts> facts_;  ///< of the program as it stands
};

}  // namespace hone::schedules
