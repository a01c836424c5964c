// SPDX-License-Identifier: Apache-2.0
//
// Ops of the library at dims nobody tried: the default schedule of each compiles, and none is the
// plain loops for want of another. Nothing runs, so that thousands take seconds.
#include <doctest/doctest.h>

#include <cstdio>
#include <iterator>
#include <string>
#include <vector>

#include "ops/op.h"
#include "schedules/model/model.h"
#include "schedules/space/space.h"
#include "tests/fuzz/random_dims.h"
#include "tests/fuzz/watched.h"
#include "tests/support/effort.h"

using namespace hone;
using namespace hone::tests;

namespace {

constexpr const char* kTargets[] = {"x86 isa=avx512 threads=1", "x86 isa=avx512 threads=2",
                                    "x86 isa=avx2 threads=1", "x86 isa=avx2 threads=2"};

/// Of a problem, at most: nothing runs.
constexpr double kIterations = 1e11;

/// Most that a default may cost by estimate, as a multiple of what the rules first thought of.
constexpr double kMostTimes = 10;

double estimated(const ir::Program& program, const std::string& schedule,
                 const ir::Target& target) {
  const auto steps = schedules::Schedule::parse(schedule);
  const auto scheduled = steps ? schedules::apply(program, *steps) : schedules::apply(program, {});
  return scheduled ? schedules::examine(*scheduled, target).cycles : 0;
}

/// What is wrong with the default of a problem, or "".
std::string wrong_default(Watched& watched, const ops::Problem& problem) {
  watched.told.clear();
  const auto kernel = runtime::choose_kernel(watched.engine.get(), problem);
  if (!kernel) return kernel.failure().message;
  if (!watched.told.empty()) return watched.told;
  if ((*kernel)->report.interpreted) return "the interpreter serves";
  const ir::Target& target = watched.engine->target;
  const std::string first =
      schedules::derive_space(problem.program, target, 1).front().analytic().text();
  if (first == (*kernel)->schedule) return "";
  const double wanted = estimated(problem.program, first, target);
  const double got = estimated(problem.program, (*kernel)->schedule, target);
  if (got <= kMostTimes * wanted) return "";
  return "serves what is estimated to take " + std::to_string(got / wanted) +
         " times as long as `" + first + "`";
}

void check_default(Watched& watched, const ops::Problem& problem) {
  CAPTURE(problem.text);
  const std::string wrong = wrong_default(watched, problem);
  CHECK_MESSAGE(wrong.empty(), wrong << "\n  repro: " << problem.text << " | "
                                     << watched.engine->target_text << " | ");
}

}  // namespace

TEST_CASE("fuzz: defaults of the library's ops at random dims") {
  const auto count =
      static_cast<int>(setting("HONE_FUZZ_PROBLEMS", by_effort(120, 1200, 2000, 8000)));
  RandomDims random(static_cast<uint64_t>(setting("HONE_FUZZ_SEED", 1)), kIterations);
  int tried = 0;
  for (const char* target : kTargets) {
    Watched watched(target);
    if (!watched.engine) continue;
    for (int i = 0; i < count / static_cast<int>(std::size(kTargets)); ++i) {
      const auto problem = ops::parse_problem(random.problem());
      if (!problem) continue;  // dims that the op does not allow
      ++tried;
      check_default(watched, *problem);
    }
  }
  std::printf("%d problems\n", tried);
}

TEST_CASE("fuzz: defaults that were rejected once") {
  for (const char* text : {
           // Blocks of a copy were put around its loop of parts, and its square held all of them.
           "matmul_u8i8 M=475 K=1..11 N=1",
           // A padded copy was made a row at a time and kept, where windows leave some of it out.
           "max_pool2d_places N=2 H=2948 W=780 P=2 V=115 A=1023 SH=5 SW=6 PH=1",
       }) {
    const auto problem = ops::parse_problem(text);
    REQUIRE_MESSAGE(problem, problem.failure().message);
    for (const char* target : kTargets) {
      Watched watched(target);
      if (watched.engine) check_default(watched, *problem);
    }
  }
}

TEST_CASE("fuzz: every op of the library with a dim of more than 31 bits") {
  constexpr int64_t kLong = (int64_t{1} << 31) + 3;
  const auto every = static_cast<size_t>(by_effort(6, 1, 1));
  size_t count = 0;
  int tried = 0;
  for (const char* target : kTargets) {
    Watched watched(target);
    if (!watched.engine) continue;
    for (const auto& cases : cases_by_op()) {
      ProblemWords words(cases.front());
      for (size_t d = 0; d < words.dims(); ++d) {
        if (count++ % every != 0) continue;
        const int64_t was = words.value(d);
        words.set(d, kLong);
        const auto problem = ops::parse_problem(words.text());
        words.set(d, was);
        if (!problem) continue;
        ++tried;
        check_default(watched, *problem);
      }
    }
  }
  std::printf("%d problems\n", tried);
  CHECK(tried > 50);
}
