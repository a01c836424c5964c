// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "include/hone/error.h"
#include "jit/ir/program.h"
#include "jit/ir/target.h"

namespace hone::schedules {

/// Why a step cannot be applied: an ordinary value, rendered on demand.
struct Reject {
  int step = -1;            ///< index in the schedule, -1: not a step
  std::string step_text;    ///< canonical text of the step
  std::string reason;       ///< what is wrong and what would be accepted
  /// `step 3 "split k 7 -> ...": 7 does not divide 31 and tail=exact; use tail=mask or tail=peel`.
  std::string text() const;
};

/// A list of steps `verb args`, perhaps with knobs; independent of any program.
/// Text: steps joined by `; `. parse(print(s)) == s.
class Schedule {
 public:
  static Result<Schedule> parse(std::string_view text);
  std::string text() const;
  /// Steps in order, each its canonical text.
  std::vector<std::string> steps;
};

/// Folds the steps of a schedule without open knobs over a program.
Result<ir::Program, Reject> apply(const ir::Program& program, const Schedule& schedule);

}  // namespace hone::schedules
