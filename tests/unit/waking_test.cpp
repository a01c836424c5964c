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
  waking.begin(0, 100, 2, time.after(pause));
  static_cast<void>(waking.pays(10, time.after(1)));
  const bool wakes = waking.pays(20, time.after(1));
  waking.end(wakes ? 2 : 1, Waking::Duration(0), time.after(8));
  return wakes;
}

}  // namespace

TEST_CASE("waking: long calls wake those who sleep, short ones do not") {
  // An iteration takes 1 us, the first 5.
  const auto pays = [](int64_t n, int64_t done, int workers) {
    Waking waking(microseconds(50));
    Line time;
    waking.begin(0, n, workers, time.now);
    CHECK(!waking.pays(1, time.after(5)));
    return waking.pays(done, time.after(static_cast<int>(done - 1)));
  };
  CHECK(!pays(10, 2, 2));    // 8 us are left
  CHECK(pays(100, 2, 2));    // 98 us
  CHECK(!pays(100, 99, 2));  // 1 us
  CHECK(!pays(42, 2, 2));    // 40 us, of which two workers gain 20
  CHECK(pays(42, 2, 16));    // and sixteen 37
  Waking waking(microseconds(50));
  Line time;
  waking.begin(0, 100, 2, time.now);
  CHECK(waking.pays(1, time.after(1000)));  // no cold cache takes so long
}

TEST_CASE("waking: of few iterations it is known what they took before") {
  for (const int workers : {2, 16}) {
    CAPTURE(workers);
    Waking waking(microseconds(50));
    Line time;
    const auto at_once = [&](size_t kind, int us) {
      waking.begin(kind, workers, workers, time.after(1000));
      const bool wakes = waking.pays_at_once();
      const int waking_takes = wakes ? 15 : 0;
      waking.end(wakes ? workers : 1, Waking::Duration(waking_takes),
                 time.after(waking_takes + (wakes ? us / workers : us)));
      return wakes;
    };
    CHECK(at_once(1, 2));  // nothing is known
    CHECK(!at_once(1, 2));
    CHECK(at_once(2, 4000));
    CHECK(at_once(2, 4000));
    CHECK(!at_once(1, 2));
    // It may take longer than it did, at least once.
    int calls = 0;
    while (!at_once(1, 4000)) REQUIRE(++calls < 5);
    waking.begin(1, 4 * workers, workers, time.after(1000));
    CHECK(!waking.pays_at_once());  // many: one is tried
  }
}

TEST_CASE("waking: short calls that follow one another closely wake the others soon") {
  Waking waking(microseconds(50));
  Line time;
  int calls = 0;
  while (!call_wakes(waking, time, 5)) REQUIRE(++calls < 20);
  CHECK(calls > 1);
  for (int i = 0; i < 20; ++i) CHECK(!call_wakes(waking, time, 100));
}

TEST_CASE("waking: what it costs is learnt, and forgotten") {
  Waking waking(microseconds(50));
  Line time;
  const auto calls = [&](int count, int workers, int after) {
    for (int i = 0; i < count; ++i) {
      waking.begin(0, 100, 2, time.after(1000));
      waking.end(workers, microseconds(after), time.after(100000));
    }
  };
  const auto before = waking.cost();
  calls(50, 2, 4);
  CHECK(waking.cost() < before / 2);
  const auto pays = [&] {
    waking.begin(0, 21, 2, time.now);
    static_cast<void>(waking.pays(1, time.after(1)));
    return waking.pays(2, time.after(1));  // 19 us are left
  };
  CHECK(pays());
  calls(50, 2, 40);
  CHECK(!pays());
  // Who has no core for long is not waited for the less, nor is that remembered for ever.
  calls(50, 2, 90000);
  CHECK(waking.cost() > before);
  CHECK(waking.cost() <= microseconds(100));
  calls(1000, 1, 0);
  CHECK(waking.cost() < before * 1.1);
}
