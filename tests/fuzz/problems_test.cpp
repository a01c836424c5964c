// SPDX-License-Identifier: Apache-2.0
//
// Random problems under random legal schedules, on every back end, against the definition. A
// failure is shrunk, first in its schedule, then in its problem, and printed as one repro line.
#include <doctest/doctest.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <optional>
#include <string>

#include "ops/op.h"
#include "ops/random.h"
#include "runtime/measure/bound.h"
#include "schedules/search/random_steps.h"
#include "tests/diff/subject.h"
#include "tests/support/effort.h"

using namespace hone;
using namespace hone::tests;

namespace {

using schedules::Schedule;

/// A problem with dims known at the call at a value inside of their ranges.
std::optional<Subject> subject_of(const std::string& text) {
  const auto p = ops::parse_problem(text);
  if (!p) return std::nullopt;
  std::vector<int64_t> dims;
  for (const ir::Dim& d : runtime::dims_to_try(p->program)) {
    dims.push_back(d.lo + (d.hi - d.lo) * 2 / 3);
  }
  return std::make_optional<Subject>(p->text, p->program, dims);
}

/// What goes wrong with a problem under a schedule; "" when nothing does, or the schedule does not
/// fit the problem.
std::string wrong_with(const std::string& text, const Schedule& schedule, const BackEnd& back_end) {
  auto subject = subject_of(text);
  if (!subject || !subject->broken().empty()) return "";
  if (!schedules::apply(subject->program(), schedule)) return "";
  return subject->check(schedule, back_end);
}

/// The smallest problem and schedule found that still fail.
void report(std::string text, Schedule schedule, const BackEnd& back_end) {
  for (bool again = true; again;) {
    again = false;
    schedule = schedules::shrink(
        schedule, [&](const auto& less) { return !wrong_with(text, less, back_end).empty(); });
    for (const std::string& simpler : ops::simpler_problems(text)) {
      if (wrong_with(simpler, schedule, back_end).empty()) continue;
      text = simpler;
      again = true;
      break;
    }
  }
  FAIL_CHECK(wrong_with(text, schedule, back_end)
             << "\n  repro: " << subject_of(text)->repro(schedule, back_end));
}

}  // namespace

TEST_CASE("fuzz: random problems under random schedules") {
  using Clock = std::chrono::steady_clock;
  const auto end = Clock::now() + std::chrono::duration<double>(
                                      setting("HONE_FUZZ_SECONDS", by_effort(2, 10, 20, 60)));
  auto seed = static_cast<uint64_t>(setting("HONE_FUZZ_SEED", 1));
  schedules::StepUses uses;
  int problems = 0, runs = 0, refused = 0, failures = 0;
  uint64_t number = 0;
  for (; Clock::now() < end && failures < 10; ++seed) {
    auto subject = subject_of(ops::random_problem(seed));
    REQUIRE(subject);
    CHECK_MESSAGE(subject->broken().empty(), subject->problem() << ": " << subject->broken());
    if (!subject->broken().empty()) continue;
    ++problems;
    schedules::RandomSchedules random(subject->program(), target_of(kInterp), seed);
    for (int i = 0; i < 4 && failures < 10; ++i) {
      const Schedule schedule = i == 0 ? Schedule{} : random.next(2 + 2 * i, &uses);
      for (const BackEnd* back_end : back_ends_for(number++)) {
        std::string rejected;
        const std::string wrong = subject->check(schedule, *back_end, &rejected);
        ++runs;
        refused += !rejected.empty();
        if (wrong.empty()) continue;
        ++failures;
        report(subject->problem(), schedule, *back_end);
        break;
      }
    }
  }
  std::printf("%d random problems, %d runs, %d of them refused by a back end\n", problems, runs,
              refused);
}
