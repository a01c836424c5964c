// SPDX-License-Identifier: Apache-2.0
// The analytic schedule of problems of every structure, and that it lowers.
#include "schedules/space/space.h"

#include <doctest/doctest.h>

#include "jit/passes/lower.h"
#include "ops/op.h"
#include "schedules/schedule.h"
#include "tests/support/golden.h"

using namespace hone;

namespace {

/// `PROBLEM | TARGET` -> the first structure with its knobs, and what lowering says.
std::string derived(const std::string& line) {
  const size_t bar = line.find(" | ");
  REQUIRE(bar != std::string::npos);
  const auto problem = ops::parse_problem(line.substr(0, bar));
  if (!problem) return problem.failure().message;
  const auto target = ir::parse_target(line.substr(bar + 3), {});
  if (!target) return target.failure().message;
  const auto space = schedules::derive_space(problem->program, *target);
  const schedules::Schedule schedule = space.front().analytic();
  std::string out;
  for (const std::string& step : space.front().schedule.texts()) out += step + "\n";
  const auto program = schedules::apply(problem->program, schedule);
  if (!program) return out + "reject: " + program.failure().text();
  const auto nest = jit::lower(*program, *target);
  if (!nest) return out + "does not lower: " + nest.failure().reason + "\n" + print(*program);
  return out;
}

}  // namespace

TEST_CASE("golden: analytic schedules") { tests::check_golden("space/analytic.txt", derived); }
