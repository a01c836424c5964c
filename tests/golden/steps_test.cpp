// SPDX-License-Identifier: Apache-2.0
// What each step makes of a program, and how it refuses: one golden file a verb.
#include <doctest/doctest.h>

#include "jit/ir/program.h"
#include "schedules/schedule.h"
#include "schedules/step.h"
#include "tests/support/golden.h"
#include "tests/support/programs.h"

using namespace hone;

namespace {

/// `PROGRAM | SCHEDULE` -> the stages after it, or why not.
std::string scheduled(const std::string& line) {
  const size_t bar = line.find(" | ");
  REQUIRE(bar != std::string::npos);
  auto schedule = schedules::Schedule::parse(line.substr(bar + 3));
  if (!schedule) return schedule.failure().message;
  auto program = schedules::apply(tests::example_program(line.substr(0, bar)), *schedule);
  return program ? print(*program) : "reject: " + program.failure().text();
}

}  // namespace

TEST_CASE("golden: steps") {
  for (const schedules::StepRow* row : schedules::steps()) {
    tests::check_golden("steps/" + std::string(row->verb) + ".txt", scheduled);
  }
}

TEST_CASE("golden: schedule text") { tests::check_golden("steps/text.txt", scheduled); }
