// SPDX-License-Identifier: Apache-2.0
// What scheduled problems lower to.
#include <doctest/doctest.h>

#include "jit/passes/lower.h"
#include "ops/op.h"
#include "schedules/schedule.h"
#include "tests/support/golden.h"

using namespace hone;

namespace {

/// `PROBLEM | SCHEDULE` -> the launches of the nest.
std::string lowered(const std::string& line) {
  const size_t bar = line.find(" | ");
  REQUIRE(bar != std::string::npos);
  const auto problem = ops::parse_problem(line.substr(0, bar));
  if (!problem) return problem.failure().message;
  const auto target = ir::parse_target("x86 isa=avx512 threads=1 l1d=48K l2=1M l3=32M", {});
  REQUIRE(target);
  const auto schedule = schedules::Schedule::parse(line.substr(bar + 3));
  if (!schedule) return schedule.failure().message;
  const auto program = schedules::apply(problem->program, *schedule);
  if (!program) return "reject: " + program.failure().text();
  const auto nest = jit::lower(*program, *target);
  if (!nest) return "does not lower: " + nest.failure().message;
  const std::string text = print(*nest);
  return text.substr(text.find("launch "));
}

}  // namespace

TEST_CASE("golden: loops cut at borders") { tests::check_golden("passes/partition.txt", lowered); }
TEST_CASE("golden: lines asked for ahead") { tests::check_golden("passes/prefetch.txt", lowered); }
