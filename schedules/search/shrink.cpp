// SPDX-License-Identifier: Apache-2.0
#include "schedules/search/random_steps.h"
#include "schedules/step.h"

namespace hone::schedules {
namespace {

/// Tries to leave out steps, runs of them first; true when that helped.
bool leave_out(Schedule& schedule, const std::function<bool(const Schedule&)>& fails) {
  for (size_t run = schedule.steps.size(); run >= 1; run /= 2) {
    for (size_t at = 0; at + run <= schedule.steps.size(); ++at) {
      Schedule less = schedule;
      const auto from = less.steps.begin() + static_cast<std::ptrdiff_t>(at);
      less.steps.erase(from, from + static_cast<std::ptrdiff_t>(run));
      if (fails(less)) {
        schedule = std::move(less);
        return true;
      }
    }
  }
  return false;
}

/// The constants of a step that may be smaller: its numbers, and its options other than layouts.
std::vector<int64_t*> constants_of(Step& step) {
  std::vector<int64_t*> out;
  for (Value& v : step.values) {
    for (Factor& f : v.number.factors) {
      if (f.kind == Factor::kConstant) out.push_back(&f.value);
    }
  }
  return out;
}

/// Tries smaller numbers in one step after the other; true when that helped.
bool make_smaller(Schedule& schedule, const std::function<bool(const Schedule&)>& fails) {
  for (Step& step : schedule.steps) {
    for (int64_t* constant : constants_of(step)) {
      const int64_t number = *constant;
      for (int64_t smaller : {int64_t{1}, int64_t{2}, number / 2, number - 1}) {
        if (smaller < 1 || smaller >= number) continue;
        *constant = smaller;
        if (fails(schedule)) return true;
        *constant = number;
      }
    }
  }
  return false;
}

}  // namespace

Schedule shrink(Schedule schedule, const std::function<bool(const Schedule&)>& fails) {
  while (leave_out(schedule, fails) || make_smaller(schedule, fails)) {
  }
  return schedule;
}

}  // namespace hone::schedules
