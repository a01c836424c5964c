// SPDX-License-Identifier: Apache-2.0
// What scheduled problems lower to.
#include <doctest/doctest.h>

#include "jit/cuda/source.h"
#include "jit/passes/barriers.h"
#include "jit/passes/lower.h"
#include "ops/op.h"
#include "schedules/schedule.h"
#include "tests/support/golden.h"

using namespace hone;

namespace {

/// The nest of `PROBLEM | SCHEDULE` for a target, or why there is none.
Result<ir::Nest, std::string> nest_of(const std::string& line, const ir::Target& target) {
  const size_t bar = line.find(" | ");
  REQUIRE(bar != std::string::npos);
  const auto problem = ops::parse_problem(line.substr(0, bar));
  if (!problem) return problem.failure().message;
  const auto schedule = schedules::Schedule::parse(line.substr(bar + 3));
  if (!schedule) return schedule.failure().message;
  const auto program = schedules::apply(problem->program, *schedule);
  if (!program) return "reject: " + program.failure().text();
  auto nest = jit::lower(*program, target);
  if (!nest) return "does not lower: " + nest.failure().reason;
  return *std::move(nest);
}

/// `PROBLEM | SCHEDULE` -> the launches of the nest.
std::string lowered(const std::string& line) {
  const auto target = ir::parse_target("x86 isa=avx512 threads=1 l1d=48K l2=1M l3=32M", {});
  REQUIRE(target);
  const auto nest = nest_of(line, *target);
  if (!nest) return nest.failure();
  const std::string text = print(*nest);
  return text.substr(text.find("launch "));
}

/// `PROBLEM | SCHEDULE` -> the nest for a GPU, and its kernels.
std::string printed(const std::string& line) {
  ir::Target target;
  target.sm = 90;
  auto nest = nest_of(line, target);
  if (!nest) return nest.failure();
  const std::string text = print(*nest);
  const auto source = jit::print_cuda(jit::with_barriers(*std::move(nest)), target);
  if (!source) return text + "is not printed: " + source.failure().reason;
  return text + source->kernels;
}

}  // namespace

TEST_CASE("golden: loops cut at borders") { tests::check_golden("passes/partition.txt", lowered); }
TEST_CASE("golden: rows past the caches") {
  tests::check_golden("passes/store_lines.txt", lowered);
}
TEST_CASE("golden: what is filled first") { tests::check_golden("passes/fill.txt", lowered); }

TEST_CASE("golden: what a scatter holds so far") {
  tests::check_golden("passes/so_far.txt", lowered);
}
TEST_CASE("golden: lines asked for ahead") { tests::check_golden("passes/prefetch.txt", lowered); }
TEST_CASE("golden: what copies hold") { tests::check_golden("passes/windows.txt", lowered); }
TEST_CASE("golden: TMA copies") { tests::check_golden("passes/tma.txt", printed); }
