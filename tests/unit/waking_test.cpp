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

/// A call of 10 us in which 1 of 100 iterations takes 0.1 us.
bool call_wakes(Waking& waking, Line& time, int pause) {
  waking.begin(2, time.after(pause));
  const bool wakes = waking.pays(10, 100, time.after(1));
  waking.end(!wakes, time.after(9));
  return wakes;
}

}  // namespace

TEST_CASE("waking: long calls wake those who sleep, short ones do not") {
  Waking waking(microseconds(50));
  Line time;
  waking.begin(2, time.now);
  CHECK(!waking.pays(1, 10, time.after(1)));     // 9 us are left
  CHECK(waking.pays(1, 100, time.now));          // 99
  CHECK(!waking.pays(99, 100, time.after(98)));  // 1
}

TEST_CASE("waking: more workers gain more") {
  Line time;
  const auto pays = [&](int workers) {
    Waking waking(microseconds(50));
    waking.begin(workers, time.now);
    return waking.pays(1, 41, time.now + microseconds(1));
  };
  CHECK(!pays(2));
  CHECK(pays(16));
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
  waking.begin(2, time.now);
  CHECK(waking.pays(1, 20, time.after(1)));  // 19 us
  for (int i = 0; i < 50; ++i) waking.woke(microseconds(400));
  CHECK(!waking.pays(1, 20, time.now));
}
