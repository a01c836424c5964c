// SPDX-License-Identifier: Apache-2.0
#include "tests/diff/expect.h"

#include <doctest/doctest.h>

#include "ops/op.h"

namespace hone::tests {

namespace {

schedules::Schedule schedule_of(const std::string& steps) {
  auto schedule = schedules::Schedule::parse(steps);
  REQUIRE_MESSAGE(schedule, steps << ": " << schedule.failure().message);
  return *std::move(schedule);
}

/// What a back end makes of a schedule of `subject`, as in the header.
std::string outcome_of(Subject* subject, const schedules::Schedule& schedule,
                       const BackEnd& back_end) {
  std::string rejected;
  const std::string wrong = subject->check(schedule, back_end, &rejected);
  return wrong.empty() ? rejected : wrong + "\n  repro: " + subject->repro(schedule, back_end);
}

}  // namespace

const std::vector<const BackEnd*> kCpuBackEnds = {&kInterp, &kAvx2, &kAvx512};

Subject subject_of(const std::string& problem, const std::vector<int64_t>& dims) {
  const auto parsed = ops::parse_problem(problem);
  REQUIRE_MESSAGE(parsed, problem << ": " << parsed.failure().message);
  Subject subject(parsed->text, parsed->program, dims);
  REQUIRE_MESSAGE(subject.broken().empty(), problem << ": " << subject.broken());
  return subject;
}

std::string outcome(const std::string& problem, const std::string& steps, const BackEnd& back_end,
                    const std::vector<int64_t>& dims) {
  Subject subject = subject_of(problem, dims);
  return outcome_of(&subject, schedule_of(steps), back_end);
}

void expect_right(Subject* subject, const schedules::Schedule& schedule,
                  std::span<const BackEnd* const> back_ends) {
  for (const BackEnd* back_end : back_ends) {
    if (!can_run(*back_end)) continue;
    CAPTURE(subject->repro(schedule, *back_end));
    CHECK(outcome_of(subject, schedule, *back_end) == "");
  }
}

void expect_right(const std::string& problem, const std::vector<std::string>& schedules,
                  const std::vector<int64_t>& dims, std::span<const BackEnd* const> back_ends) {
  Subject subject = subject_of(problem, dims);
  for (const std::string& steps : schedules) expect_right(&subject, schedule_of(steps), back_ends);
}

}  // namespace hone::tests
