// SPDX-License-Identifier: Apache-2.0
//
// Halide as an oracle: another reading of the same stages, held against the definition.
#include <doctest/doctest.h>

#include <cstdio>
#include <cstdlib>
#include <map>

#include "schedules/search/random_steps.h"
#include "schedules/space/space.h"
#include "tests/diff/problems.h"
#include "tests/diff/subject.h"
#include "tests/support/effort.h"

using namespace hone;
using namespace hone::tests;

namespace {

/// How many programs Halide was given, said, and agreed on.
struct Tally {
  int given = 0, said = 0, agreed = 0;
  std::map<std::string, int> refused;  ///< by the first words of the reason

  void add(Subject& subject, const schedules::Schedule& schedule) {
    ++given;
    std::string rejected;
    const std::string wrong = subject.check(schedule, *kHalide, &rejected);
    if (!rejected.empty()) {
      ++refused[rejected.substr(0, 120)];
      if (std::getenv("HONE_TEST_VERBOSE")) {
        std::printf("refused: %s\n  %s\n", rejected.c_str(),
                    subject.repro(schedule, *kHalide).c_str());
      }
      return;
    }
    ++said;
    if (wrong.empty()) ++agreed;
    CHECK_MESSAGE(wrong.empty(), wrong << "\n  repro: " << subject.repro(schedule, *kHalide));
  }

  void print(const char* what) const {
    std::printf("%s: Halide says %d of %d programs, and agrees on %d\n", what, said, given, agreed);
    for (const auto& [why, count] : refused) std::printf("  %3d refused: %s\n", count, why.c_str());
  }
};

}  // namespace

TEST_CASE("halide: the definition of every problem") {
  if (!kHalide) return;
  Tally tally;
  uint64_t number = 0;
  const auto every = static_cast<uint64_t>(by_effort(8, 1, 1));
  for (const DiffProblem& problem : diff_problems()) {
    if (number++ % every != 0) continue;
    Subject subject(problem.text, problem.program, problem.dims);
    if (subject.broken().empty()) tally.add(subject, {});
  }
  tally.print("definitions");
}

TEST_CASE("halide: the default schedule of every problem, carried over") {
  if (!kHalide) return;
  Tally tally;
  uint64_t number = 0;
  const auto every = static_cast<uint64_t>(by_effort(8, 1, 1));
  for (const DiffProblem& problem : diff_problems()) {
    if (number++ % every != 0) continue;
    Subject subject(problem.text, problem.program, problem.dims);
    if (!subject.broken().empty()) continue;
    const auto spaces = schedules::derive_space(subject.program(), target_of(*kHalide));
    if (!spaces.empty()) tally.add(subject, spaces[0].analytic());
  }
  tally.print("default schedules");
}

TEST_CASE("halide: a prefetch of what data give does not read the data past their end") {
  if (!kHalide) return;
  for (const DiffProblem& problem : diff_problems()) {
    if (!problem.text.starts_with("gather_rows ")) continue;
    Subject subject(problem.text, problem.program, problem.dims);
    const auto schedule = schedules::Schedule::parse("prefetch E at Y/n distance=8");
    REQUIRE(schedule);
    CHECK(subject.check(*schedule, *kHalide) == "");
  }
}

TEST_CASE("halide: random legal schedules, carried over") {
  if (!kHalide) return;
  Tally tally;
  uint64_t number = 0;
  const auto every = static_cast<uint64_t>(by_effort(16, 2, 1));
  const int each = static_cast<int>(by_effort(1, 2, 4));
  for (const DiffProblem& problem : diff_problems()) {
    if (number++ % every != 0) continue;
    Subject subject(problem.text, problem.program, problem.dims);
    if (!subject.broken().empty()) continue;
    schedules::RandomSchedules random(subject.program(), target_of(*kHalide), number);
    for (int i = 0; i < each; ++i) tally.add(subject, random.next(3 + 3 * i, nullptr));
  }
  tally.print("random schedules");
}
