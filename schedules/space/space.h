// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <vector>

#include "jit/ir/program.h"
#include "jit/ir/target.h"
#include "schedules/schedule.h"
#include "schedules/space/plan.h"

namespace hone::schedules {

/// A schedule with knobs, and the values that the analytic model gives them.
struct Space {
  Schedule schedule;
  std::vector<int64_t> values;  ///< in the order of knobs(schedule)
  /// The schedule at the analytic values.
  Schedule analytic() const { return fix(schedule, values); }
};

/// What the rules make of a program's structure, for a target: several structures, the analytic
/// choice first, each with knobs; at most `most`. The plain schedule without steps is among them.
std::vector<Space> derive_space(const ir::Program& program, const ir::Target& target,
                                int most = 24);

/// What each rule made of each stage on the way to the analytic schedule, in their order.
std::vector<RuleTrial> explain(const ir::Program& program, const ir::Target& target);

/// The first structure of the space at its analytic values, with the program that it makes. It may
/// be illegal, or not lower: what compiles it finds out.
Scheduled analytic_schedule(const ir::Program& program, const ir::Target& target);

/// The analytic schedule without a search: the first structure of the space at its analytic values
/// where it applies and lowers, else the fallback.
Schedule default_schedule(const ir::Program& program, const ir::Target& target);

/// The fallback for a structure that `accepts` refuses, better than plain loops. First it tries the
/// same structure at smaller values, then one derived rule by rule that keeps only accepted steps.
/// Where other rules fail, a stage is vectorized as it stands. Returns no steps where nothing is
/// accepted.
Schedule fallback_schedule(const ir::Program& program, const ir::Target& target,
                           const std::function<bool(const Schedule&)>& accepts);

}  // namespace hone::schedules
