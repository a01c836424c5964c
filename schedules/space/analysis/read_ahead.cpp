// SPDX-License-Identifier: Apache-2.0
#include "schedules/space/analysis/read_ahead.h"

#include <algorithm>

#include "schedules/space/analysis/shape.h"
#include "schedules/steps/edit.h"

namespace hone::schedules {
namespace {

/// The innermost loop of `s` that runs its iterations one after the other, if it goes along a
/// tensor; "" where it does not.
std::string loop_along(const Plan& plan, const ir::Stage& s, const std::string& tensor) {
  const std::vector<Access> loads = plan.facts(s.name).loads;
  const auto moves = [&](const std::string& var) {
    return std::any_of(loads.begin(), loads.end(),
                       [&](const Access& a) { return a.buffer == tensor && a.stride(var) != 0; });
  };
  for (size_t i = s.loops.size(); i-- > 0;) {
    if (s.loops[i].mark != ir::Mark::kSerial) continue;
    const std::vector<std::string> vars = roots_of(s, s.loops[i].name);
    return std::any_of(vars.begin(), vars.end(), moves) ? s.loops[i].name : "";
  }
  return {};
}

}  // namespace

bool read_ahead(Plan& plan, const std::string& stage, const std::string& copy,
                const ir::Place& outer, int64_t bytes, int64_t rows) {
  const ir::Machine& machine = plan.machine();
  const std::string loop = loop_along(plan, plan.stage(stage), copy);
  if (loop.empty() || bytes <= machine.l1d / 2) return true;
  const ir::Place at{stage, loop};
  const int64_t all = bytes_of(plan.program(), *plan.program().buffer(copy));
  const ir::Stage* made = plan.program().producer(copy);
  const bool whole = made && made->at.root();
  if (whole && all > machine.l2 && bytes <= machine.l2 / 2) {
    const Number panels = plan.knob(knob_name("ahead", stage + "_" + copy), {0, 1}, 1);
    if (!plan.add(step::prefetch(copy, at, panels, outer))) return false;
  }
  // A step of few rows takes about a dozen cycles; some steps are what the second cache takes.
  // Tuned on: an Intel server with AMX (AVX-512).
  constexpr int64_t kSteps = 8, kFewRows = 8;
  const Number steps = plan.knob(knob_name("pf", stage + "_" + copy), {0, kSteps, 2 * kSteps},
                                 machine.streams_to_l1 || rows > kFewRows ? 0 : kSteps);
  return plan.add(step::prefetch(copy, at, steps));
}

}  // namespace hone::schedules
