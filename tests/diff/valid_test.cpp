// SPDX-License-Identifier: Apache-2.0
//
// What the check of ops takes runs: its plain loops are never refused, and any schedule of it is
// right.
#include <doctest/doctest.h>

#include "schedules/search/random_steps.h"
#include "tests/diff/problems.h"
#include "tests/diff/subject.h"
#include "tests/support/effort.h"

using namespace hone;
using namespace hone::tests;

TEST_CASE("diff: the plain loops of every valid op run, on every back end") {
  uint64_t number = 0;
  for (const DiffProblem& problem : valid_problems()) {
    Subject subject(problem.text, problem.program, problem.dims);
    CHECK_MESSAGE(subject.broken().empty(), problem.text << ": " << subject.broken());
    for (const BackEnd* back_end : back_ends_for(number++)) {
      std::string rejected;
      const std::string wrong = subject.check({}, *back_end, &rejected);
      CHECK_MESSAGE(wrong + rejected == "", subject.repro({}, *back_end));
    }
  }
}

TEST_CASE("diff: valid ops under random schedules") {
  const int each = static_cast<int>(by_effort(1, 4, 10, 40));
  uint64_t number = 0;
  for (const DiffProblem& problem : valid_problems()) {
    Subject subject(problem.text, problem.program, problem.dims);
    schedules::RandomSchedules random(subject.program(), target_of(kInterp), 7);
    for (int i = 0; i < each; ++i) {
      const schedules::Schedule schedule = random.next(3 + i % 5, nullptr);
      for (const BackEnd* back_end : back_ends_for(number++)) {
        CHECK_MESSAGE(subject.check(schedule, *back_end) == "", subject.repro(schedule, *back_end));
      }
    }
  }
}
