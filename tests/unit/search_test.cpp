// SPDX-License-Identifier: Apache-2.0
// What the strategies look at, on spaces whose times are a formula.
#include "schedules/search/search.h"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <set>

#include "schedules/schedule.h"

using namespace hone::schedules;

namespace {

constexpr double kInfinite = std::numeric_limits<double>::infinity();

Space space_of(const char* text, std::vector<int64_t> values) {
  auto schedule = Schedule::parse(text);
  REQUIRE(schedule);
  return {*schedule, std::move(values)};
}

/// Two knobs of 4 and 3 values, one of 4, and none: 17 points.
std::vector<Space> small_spaces() {
  return {space_of("split Y/i ?a=16|32|64|128 -> o i; split Y/j ?b=1|2|4 -> p j", {32, 1}),
          space_of("split Y/i ?a=16|32|64|128 -> o i", {16}), space_of("", {})};
}

/// Plays `strategy` until it has nothing to propose; infinite times where `cost` is.
std::vector<Tried> play(const Strategy& strategy, const std::vector<Space>& spaces,
                        const std::function<double(const Candidate&)>& cost, size_t most) {
  std::vector<Tried> log;
  while (log.size() < most) {
    const auto batch = strategy.propose({spaces, 7, log, cost}, 8);
    if (batch.empty()) break;
    for (const Candidate& c : batch) log.push_back({c, cost(c)});
  }
  return log;
}

std::set<Candidate> points_of(const std::vector<Tried>& log) {
  std::set<Candidate> points;
  for (const Tried& t : log) points.insert(t.candidate);
  return points;
}

}  // namespace

TEST_CASE("search: every strategy tries the whole of a small space, each point once") {
  const auto spaces = small_spaces();
  const auto cost = [](const Candidate& c) {
    return 100.0 + static_cast<double>(c.space) + (c.values.empty() ? 0 : 1.0 / c.values[0]);
  };
  for (const Strategy* s : strategies()) {
    CAPTURE(s->name);
    const auto log = play(*s, spaces, cost, 100);
    CHECK(log.size() == 17);
    CHECK(points_of(log).size() == 17);
    // What the rules prefer comes first.
    CHECK(log[0].candidate == Candidate{0, {32, 1}});
    CHECK(log[1].candidate == Candidate{1, {16}});
  }
}

TEST_CASE("search: what is not worth a trial neither is tried nor ends the search") {
  const auto spaces = small_spaces();
  // Most points are out; those left are far from the analytic one.
  const auto cost = [](const Candidate& c) {
    const bool fine = c == Candidate{0, {32, 1}} || (c.space == 0 && c.values[0] == 128);
    return fine ? 10.0 - static_cast<double>(c.values[1]) : kInfinite;
  };
  for (const Strategy* s : strategies()) {
    CAPTURE(s->name);
    const auto points = points_of(play(*s, spaces, cost, 100));
    CHECK(points == std::set<Candidate>{{0, {32, 1}}, {0, {128, 1}}, {0, {128, 2}}, {0, {128, 4}}});
  }
}

TEST_CASE("search: the first choice is tried whatever it seems to cost") {
  const auto spaces = small_spaces();
  const auto cost = [](const Candidate&) { return kInfinite; };
  for (const Strategy* s : strategies()) {
    CAPTURE(s->name);
    CHECK(play(*s, spaces, cost, 100).size() == 1);
  }
}

TEST_CASE("search: proposals are a function of seed and log") {
  const auto spaces = small_spaces();
  const auto cost = [](const Candidate& c) { return static_cast<double>(1 + c.space); };
  for (const Strategy* s : strategies()) {
    CAPTURE(s->name);
    const auto a = play(*s, spaces, cost, 12), b = play(*s, spaces, cost, 12);
    REQUIRE(a.size() == b.size());
    for (size_t i = 0; i < a.size(); ++i) CHECK(a[i].candidate == b[i].candidate);
  }
}
