// SPDX-License-Identifier: Apache-2.0
//
// No default falls off a cliff: of the library's ops at dims nobody tried, none is many times
// slower than what a moment of tuning finds.
#include <doctest/doctest.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <iostream>
#include <stop_token>
#include <string>
#include <vector>

#include "ops/op.h"
#include "runtime/measure/bound.h"
#include "runtime/measure/work.h"
#include "schedules/space/analysis/facts.h"
#include "tests/fuzz/random_dims.h"
#include "tests/fuzz/watched.h"
#include "tests/support/effort.h"

using namespace hone;
using namespace hone::tests;

namespace {

constexpr const char* kTargets[] = {"x86 threads=1", "x86 isa=avx2 threads=1"};

/// About the most of a problem: some milliseconds, so that many are tried.
constexpr double kIterations = 1e7;
constexpr double kMostOperations = 3e7;
constexpr double kMostBytes = 1e8;
constexpr double kMostMemory = 1e9;

/// A default may take so many times as long as the tuned schedule.
constexpr double kMostTimes = 10;

bool affordable(const ir::Program& program, const ir::Target& target) {
  // A window over a huge image reads few of its elements.
  double bytes = 0;
  for (const ir::Buffer& b : program.buffers) {
    if (b.role != ir::Role::kTemp) bytes += static_cast<double>(schedules::bytes_of(program, b));
  }
  if (bytes > kMostMemory) return false;
  const auto work = runtime::work_of(program, runtime::timing_dims(program), target);
  return work.operations < kMostOperations && work.footprint < kMostBytes;
}

/// Problems after which a long run says how far it is, and what it found is written out.
constexpr int kReported = 500;

/// Tunes until the default is known to be near the limit, so that nothing can be so much faster, or
/// the budget is spent.
Result<TuneResult> tuned(Watched& watched, const ops::Problem& problem, runtime::Limits* limits) {
  double limit_us = 0;
  for (const auto& dims : runtime::timing_points(problem.program)) {
    limit_us = std::max(limit_us, runtime::bound_of(problem.program, dims, limits).time_us);
  }
  std::stop_source enough;
  TuneOptions o;
  o.budget = std::chrono::milliseconds(600);
  o.stop = enough.get_token();
  o.trial = [&](const TuneTrial& trial) {
    const bool near = trial.time_us > 0 && trial.time_us < kMostTimes * limit_us;
    if (trial.number == 0 && near) enough.request_stop();
  };
  return watched.engine->tune(problem, o);
}

}  // namespace

TEST_CASE("fuzz: no default is many times slower than tuned") {
  const auto count = static_cast<int>(setting("HONE_CLIFF_PROBLEMS", by_effort(4, 20, 40, 20000)));
  RandomDims random(static_cast<uint64_t>(setting("HONE_FUZZ_SEED", 1)), kIterations);
  std::vector<double> times;
  int tried = 0, searched = 0, late = 0;
  for (const char* target : kTargets) {
    Watched watched(target);
    if (!watched.engine) continue;
    runtime::Limits limits = watched.engine->limits();
    for (int i = 0; i < count / 2; ++i) {
      if (i > 0 && i % kReported == 0) {
        std::cout << target << ": " << i << " of " << count / 2 << " problems" << std::endl;
      }
      const auto problem = ops::parse_problem(random.problem());
      if (!problem || !affordable(problem->program, watched.engine->target)) continue;
      watched.told.clear();
      const auto result = tuned(watched, *problem, &limits);
      CAPTURE(problem->text);
      CAPTURE(watched.engine->target_text);
      // A busy machine may not open a large problem within the budget.
      if (!result && result.failure().code == ErrorCode::kUnsupported) {
        ++late;
        continue;
      }
      REQUIRE_MESSAGE(result, result.failure().message);
      CHECK(watched.told == "");
      CHECK_MESSAGE(result->speedup < kMostTimes, result->default_us, " us by default, ",
                    result->time_us, " us by ", result->schedule);
      ++tried;
      if (result->end != TuneEnd::kStopped) ++searched;
      if (result->speedup > 0) times.push_back(result->speedup);
    }
  }
  std::sort(times.begin(), times.end());
  std::printf("%d problems, %d of them tuned", tried, searched);
  if (!times.empty()) {
    std::printf(": faster than the default %.2f times in the middle, %.2f times at most",
                times[times.size() / 2], times.back());
  }
  std::printf("\n");
  CHECK(tried > count / 4);
  CHECK(late <= 1 + count / 100);
}
