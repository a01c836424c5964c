// SPDX-License-Identifier: Apache-2.0
#include "runtime/threads/waking.h"

#include <doctest/doctest.h>

using hone::runtime::Waking;
using std::chrono::microseconds;

namespace {

/// Time as the test has it.
struct Line {
  Waking::Clock::time_point now{std::chrono::hours(1)};
  Waking::Clock::time_point after(int us) { return now += microseconds(us); }
};

/// A call of 100 iterations in 10 us.
bool call_wakes(Waking& waking, Line& time, int pause) {
  waking.begin(100, 2, time.after(pause));
  const bool wakes = waking.pays(10, time.after(1));
  waking.end(!wakes, time.after(9));
  return wakes;
}

}  // namespace

TEST_CASE("waking: long calls wake those who sleep, short ones do not") {
  const auto pays = [](int64_t n, int64_t done, int workers) {
    Waking waking(microseconds(50));
    Line time;
    waking.begin(n, workers, time.now);
    return waking.pays(done, time.after(static_cast<int>(done)));
  };
  CHECK(!pays(10, 1, 2));    // 9 us are left
  CHECK(pays(100, 1, 2));    // 99 us
  CHECK(!pays(100, 99, 2));  // 1 us
  CHECK(!pays(41, 1, 2));    // 40 us, of which two workers gain 20
  CHECK(pays(41, 1, 16));    // and sixteen 37
}

TEST_CASE("waking: of few iterations it is known what they took before") {
  Waking waking(microseconds(50));
  Line time;
  const auto at_once = [&](int64_t n, int us) {
    waking.begin(n, 2, time.after(1000));
    REQUIRE(waking.are_few());
    const bool wakes = waking.pays_at_once();
    waking.end(!wakes, time.after(us));
    return wakes;
  };
  CHECK(at_once(3, 2));  // nothing is known
  CHECK(!at_once(3, 2));
  CHECK(at_once(5, 2000));
  CHECK(at_once(5, 2000));
  CHECK(!at_once(3, 2));
  // It may take longer than it did, at least once.
  int calls = 0;
  while (!at_once(3, 2000)) REQUIRE(++calls < 5);
  waking.begin(8, 2, time.after(1000));
  CHECK(!waking.are_few());
}

TEST_CASE("waking: short calls that follow one another closely wake the others soon") {
  Waking waking(microseconds(50));
  Line time;
  int calls = 0;
  while (!call_wakes(waking, time, 5)) REQUIRE(++calls < 20);
  CHECK(calls > 1);
  for (int i = 0; i < 20; ++i) CHECK(!call_wakes(waking, time, 100));
}

TEST_CASE("waking: what it costs is learnt") {
  Waking waking(microseconds(50));
  const auto before = waking.cost();
  for (int i = 0; i < 50; ++i) waking.woke(microseconds(4));
  CHECK(waking.cost() < before);
  CHECK(waking.cost() < microseconds(5));
  Line time;
  waking.begin(20, 2, time.now);
  CHECK(waking.pays(1, time.after(1)));  // 19 us
  for (int i = 0; i < 50; ++i) waking.woke(microseconds(40));
  CHECK(!waking.pays(1, time.now));
  // Who has no core for long is not waited for the less.
  for (int i = 0; i < 50; ++i) waking.woke(microseconds(90000));
  CHECK(waking.cost() <= microseconds(100));
}
