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

/// Tries smaller numbers in one step after the other; true when that helped.
bool make_smaller(Schedule& schedule, const std::function<bool(const Schedule&)>& fails) {
  for (Step& step : schedule.steps) {
    const Step whole = step;
    const std::string kept = print(step);
    for (size_t at = 0; at < kept.size(); ++at) {
      // A number stands between blanks, or after `=`.
      const bool starts = at > 0 && (kept[at - 1] == ' ' || kept[at - 1] == '=');
      if (!starts || kept[at] < '0' || kept[at] > '9') continue;
      const size_t end = kept.find_first_not_of("0123456789", at);
      const int64_t number = std::stoll(kept.substr(at, end - at));
      for (int64_t smaller : {int64_t{1}, int64_t{2}, number / 2, number - 1}) {
        if (smaller < 1 || smaller >= number) continue;
        auto other = parse_step(kept.substr(0, at) + std::to_string(smaller) +
                                (end == std::string::npos ? "" : kept.substr(end)));
        if (!other) continue;
        step = *std::move(other);
        if (fails(schedule)) return true;
        step = whole;
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
