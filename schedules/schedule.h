// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "include/hone/error.h"
#include "jit/ir/program.h"
#include "jit/ir/target.h"
#include "schedules/step.h"

namespace hone::ir {
struct Nest;
}  // namespace hone::ir

namespace hone::schedules {

/// A list of steps, perhaps with knobs; independent of any program. As text, which is what caches
/// and people see, steps `verb args` joined by `; `. parse(s.text()) == s.
class Schedule {
 public:
  /// Parses steps separated by `;` or line ends; errors underline the step.
  static Result<Schedule> parse(std::string_view text);
  std::string text() const;
  /// The canonical text of each step.
  std::vector<std::string> texts() const;
  std::vector<Step> steps;
  bool operator==(const Schedule&) const = default;
};

/// A schedule without open knobs, and a program with its steps applied.
struct Scheduled {
  Schedule schedule;
  ir::Program program;
  /// What that lowers to for the target at hand, where somebody asked; else null.
  std::shared_ptr<const ir::Nest> nest = nullptr;
};

/// Applies the steps of a schedule without open knobs to a program, in order, then checks the
/// result. Stages must be computed where their readers are, and marked loops must stand where back
/// ends can carry the marks out.
Result<ir::Program, ir::Reject> apply(const ir::Program& program, const Schedule& schedule);

/// What is wrong with the text of a schedule: every step that does not parse or does not apply.
/// A caret is under the word at fault. A step that needs what a wrong one makes is not judged.
std::string objections(const ir::Program& program, std::string_view schedule);

/// `program` with the steps of a text applied. The failure tells all objections.
Result<Scheduled> apply_text(const ir::Program& program, std::string_view schedule);

/// The knobs of a schedule, in text order.
std::vector<Knob> knobs(const Schedule& schedule);

/// The schedule with every knob replaced by a value; `values` in the order of `knobs`.
Schedule fix(const Schedule& schedule, const std::vector<int64_t>& values);

}  // namespace hone::schedules
