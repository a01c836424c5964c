// SPDX-License-Identifier: Apache-2.0
//
// Every back end against the definition: problems x schedules x data sets.
#include <doctest/doctest.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <set>

#include "schedules/search/random_steps.h"
#include "tests/diff/problems.h"
#include "tests/diff/subject.h"
#include "tests/support/effort.h"

using namespace hone;
using namespace hone::tests;

namespace {

/// Reports a failure by its smallest schedule.
void report(Subject& subject, const schedules::Schedule& schedule, const BackEnd& back_end,
            const std::string& wrong) {
  const schedules::Schedule small = schedules::shrink(
      schedule, [&](const auto& less) { return !subject.check(less, back_end).empty(); });
  const std::string why = subject.check(small, back_end);
  FAIL_CHECK((why.empty() ? wrong : why) << "\n  repro: " << subject.repro(small, back_end));
}

/// True for all back ends, or those of them that HONE_TEST_BACKENDS lists.
bool wanted(const BackEnd& back_end) {
  const char* listed = std::getenv("HONE_TEST_BACKENDS");
  return !listed || std::strstr(listed, back_end.name) != nullptr;
}

/// Where the random schedules begin: 0, or what HONE_TEST_SEED says.
uint64_t seed() {
  const char* text = std::getenv("HONE_TEST_SEED");
  return text ? std::strtoull(text, nullptr, 10) : 0;
}

}  // namespace

TEST_CASE("diff: every problem by the default schedule on every back end") {
  uint64_t number = 0;
  for (const DiffProblem& problem : diff_problems()) {
    Subject subject(problem.text, problem.program, problem.dims);
    CHECK_MESSAGE(subject.broken().empty(), problem.text << ": " << subject.broken());
    for (const BackEnd* back_end : back_ends_for(number++)) {
      if (!wanted(*back_end)) continue;
      std::string rejected;
      const std::string wrong = subject.check({}, *back_end, &rejected);
      if (rejected.empty() && wrong.empty()) continue;
      FAIL_CHECK(wrong << rejected << "\n  repro: " << subject.repro({}, *back_end));
    }
  }
}

TEST_CASE("diff: random legal schedules on every back end") {
  const auto problems = diff_problems();
  const int each = static_cast<int>(by_effort(1, 4, 10, 40));
  schedules::StepUses uses;
  std::map<std::string, std::set<std::string>> where;
  int refused = 0, checked = 0;
  uint64_t number = 0;
  for (const DiffProblem& problem : problems) {
    Subject subject(problem.text, problem.program, problem.dims);
    if (!subject.broken().empty()) continue;
    const ir::Target target = target_of(kInterp);
    schedules::RandomSchedules random(subject.program(), target,
                                      seed() + std::hash<std::string>()(problem.text) % 1000);
    for (int i = 0; i < each; ++i) {
      const schedules::Schedule schedule = random.next(3 + i % 10, &uses);
      for (const schedules::Step& step : schedule.steps) {
        for (const std::string& kind : schedules::kinds_of(step)) where[kind].insert(problem.op);
      }
      for (const BackEnd* back_end : back_ends_for(number++)) {
        if (!wanted(*back_end)) continue;
        std::string rejected;
        const std::string wrong = subject.check(schedule, *back_end, &rejected);
        ++checked;
        refused += !rejected.empty();
        if (!wrong.empty()) report(subject, schedule, *back_end, wrong);
      }
    }
  }
  std::printf("%d schedules checked, %d of them refused by a back end\n%s", checked, refused,
              schedules::print(uses).c_str());
  if (effort() != Effort::kFull) return;
  for (const auto& entry : uses) {
    const std::string& kind = entry.first;
    const schedules::StepUse& use = entry.second;
    CHECK_MESSAGE(use.accepted >= each * 5 / 4,
                  kind << " was accepted only " << use.accepted << " times");
    // Few ops are sums of integers less zero points, or of integers that small.
    const size_t ops = kind == "expand" || kind == "narrow" ? 2 : 5;
    CHECK_MESSAGE(where[kind].size() >= ops, kind << " was used on few ops only");
  }
}
