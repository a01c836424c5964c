// SPDX-License-Identifier: Apache-2.0
// The final ranking, on a machine whose noise is known.
#include "runtime/tune/ranking.h"

#include <doctest/doctest.h>

#include <cmath>
#include <random>

#include "runtime/measure/samples.h"

using namespace hone;
using namespace hone::runtime;

namespace {

using Measured = Result<std::optional<RankSample>>;

/// Finalists whose true times are known, on a machine that adds noise.
class FakeMachine {
 public:
  FakeMachine(std::vector<double> times, double noise, unsigned seed)
      : times_(std::move(times)), noise_(noise), random_(seed) {}

  RankMeasure measure() {
    return [this](size_t i) -> Measured {
      ++measured;
      const double drifted = times_[i] * (1 + drift * measured);
      return std::optional(RankSample{drifted * std::exp(noise_ * normal_(random_)), false});
    };
  }

  int measured = 0;
  double drift = 0;  ///< share by which everything grows with each measurement

 private:
  std::vector<double> times_;
  double noise_;
  std::mt19937 random_;
  std::normal_distribution<double> normal_;
};

Ranking ranking_of(const std::vector<std::string>& finalists, const RankMeasure& measure,
                   const RankOptions& options = {}) {
  auto ranking = rank(finalists, measure, options);
  REQUIRE(ranking);
  return *ranking;
}

const std::vector<std::string> kThree = {"the incumbent", "another one", "one"};

}  // namespace

TEST_CASE("ranking: the fastest wins, if by more than the noise") {
  for (unsigned seed = 1; seed <= 20; ++seed) {
    CAPTURE(seed);
    FakeMachine machine({10, 8, 9}, 0.005, seed);
    const Ranking r = ranking_of(kThree, machine.measure());
    CHECK(r.winner == 1);
    CHECK(r.times_us[1] == doctest::Approx(8).epsilon(0.02));
    CHECK(r.noise < 0.03);
  }
}

TEST_CASE("ranking: the incumbent stays where the gain is small, or no more than noise") {
  FakeMachine quiet({10, 9.85, 9.9}, 0.0001, 1);
  CHECK(ranking_of(kThree, quiet.measure()).winner == 0);
  // Whatever the noise does, all are alike.
  for (unsigned seed = 1; seed <= 50; ++seed) {
    CAPTURE(seed);
    FakeMachine noisy({10, 10, 10}, 0.01, seed);
    const Ranking r = ranking_of(kThree, noisy.measure());
    CHECK(r.noise > 0.003);
    CHECK(r.winner == 0);
  }
  FakeMachine gains({10, 9.7, 9.9}, 0.0001, 1);
  CHECK(ranking_of(kThree, gains.measure()).winner == 1);
}

TEST_CASE("ranking: among challengers that tie the simpler wins") {
  FakeMachine machine({10, 8.00, 8.04}, 0.0001, 1);
  CHECK(ranking_of(kThree, machine.measure()).winner == 2);
  FakeMachine apart({10, 8.0, 8.4}, 0.0001, 1);
  CHECK(ranking_of(kThree, apart.measure()).winner == 1);
  // It has to beat the incumbent by itself.
  FakeMachine close({10, 9.75, 9.84}, 0.0001, 1);
  CHECK(ranking_of(kThree, close.measure()).winner == 1);
}

TEST_CASE("ranking: a drift hits all alike") {
  FakeMachine machine({10, 9.9, 10.1}, 0.001, 1);
  machine.drift = 0.01;  // twice as slow after a hundred measurements
  CHECK(ranking_of(kThree, machine.measure()).winner == 0);
}

TEST_CASE("ranking: disturbed rounds do not count") {
  // In rounds 2 and 4 something takes the core from all but the slowest.
  int n = 0;
  const std::vector<double> times = {10, 8, 12};
  const auto spoilt = [&](bool told) {
    n = 0;
    return [&times, &n, told](size_t i) -> Measured {
      const int round = n++ / 4;
      const bool bad = round == 1 || round == 3;
      const bool last = n % 4 == 0;
      const double slow = bad && i != 2 ? (last ? 40 : 5) : 1;
      return std::optional(RankSample{times[i] * slow, told && bad});
    };
  };
  for (bool told : {true, false}) {
    CAPTURE(told);
    const Ranking r = ranking_of(kThree, spoilt(told));
    if (!told) CHECK(n == 7 * 4);
    CHECK(r.winner == 1);
    CHECK(r.times_us[0] == doctest::Approx(10));
    CHECK(r.times_us[1] == doctest::Approx(8));
    CHECK(r.noise == doctest::Approx(0));
  }
  // Where no round is quiet there is an end all the same.
  FakeMachine hopeless({10, 9, 8}, 1, 1);
  ranking_of(kThree, hopeless.measure(), {.rounds = 3});
  CHECK(hopeless.measured == 9 * 4);
}

TEST_CASE("ranking: noise without end does not keep a slow incumbent") {
  // In each round the incumbent takes 10 us once and 40 us once, the other 12 us.
  int n = 0;
  const RankMeasure measure = [&n](size_t i) -> Measured {
    return std::optional(RankSample{i == 1 ? 12.0 : n++ % 2 ? 40.0 : 10.0, false});
  };
  const Ranking r = ranking_of({"the incumbent", "one"}, measure, {.rounds = 3});
  CHECK(r.noise > 1);
  CHECK(r.winner == 1);
}

TEST_CASE("ranking: what is fast in one placement of its operands only does not win") {
  int placement = -1;
  const RankMeasure measure = [&](size_t i) -> Measured {
    const double conflicts = placement == 0 ? 4 : 9;  // of the first placement there are few
    return std::optional(RankSample{i == 1 ? conflicts : 5.0, false});
  };
  RankOptions options;
  options.before_round = [&] { ++placement; };
  const Ranking r = ranking_of({"the incumbent", "lucky"}, measure, options);
  CHECK(placement == options.rounds - 1);
  CHECK(r.winner == 0);
  CHECK(r.times_us[1] == doctest::Approx(9));
}

TEST_CASE("ranking: a schedule whose second thread had no core is asked again") {
  // Both run 10 us on two cores and 19 on one; the incumbent has one in three tries of four.
  int n = 0;
  const RankMeasure measure = [&](size_t i) -> Measured {
    const bool lone = i == 0 && n++ % 4 != 3;
    return std::optional(RankSample{lone ? 19.0 : 10.0, false, lone ? 1.0 : 2.0});
  };
  const Ranking r = ranking_of({"the incumbent", "one"}, measure);
  CHECK(r.winner == 0);
  CHECK(r.times_us[0] == doctest::Approx(10));
  CHECK(r.times_us[1] == doctest::Approx(10));
}

TEST_CASE("ranking: the time bounds it, after two finalists, or one round") {
  FakeMachine machine({10, 8, 9}, 0, 1);
  RankOptions options;
  options.out_of_time = [] { return true; };
  const Ranking r = ranking_of(kThree, machine.measure(), options);
  CHECK(r.winner == 1);
  CHECK(r.times_us[2] == 0);
  CHECK(machine.measured == 3);
  // A second round that is cut short does not count.
  FakeMachine slower({10, 8, 9}, 0, 1);
  options.out_of_time = [&] { return slower.measured >= 6; };
  CHECK(ranking_of(kThree, slower.measure(), options).times_us[2] == doctest::Approx(9));
  CHECK(slower.measured == 6);
}

TEST_CASE("ranking: who fails drops out, the incumbent too") {
  const auto failing = [](size_t bad) {
    return [bad](size_t i) -> Measured {
      if (i == bad) return std::optional<RankSample>();
      return std::optional(RankSample{10.0 - static_cast<double>(i), false});
    };
  };
  CHECK(ranking_of(kThree, failing(2)).winner == 1);
  const Ranking r = ranking_of(kThree, failing(0));
  CHECK(r.winner == 2);
  CHECK(r.times_us[0] == 0);
  const auto none = [](size_t) -> Measured { return std::optional<RankSample>(); };
  CHECK_FALSE(rank(kThree, none, {}));
  const auto broken = [](size_t) -> Measured { return Failure{ErrorCode::kInternal, "gone"}; };
  CHECK_FALSE(rank(kThree, broken, {}));
}

TEST_CASE("samples: one thread counts its own time, several are asked again") {
  // Every second stretch loses half of its time to someone else.
  int n = 0;
  const auto run = [&](int64_t rounds) {
    const double us = 100.0 * static_cast<double>(rounds);
    const bool bad = n++ % 2 == 1;
    return Stretch{bad ? 2 * us : us, us, bad ? 1 : 0};
  };
  const Samples alone = take_samples(run, {.samples = 4});
  CHECK(alone.us == std::vector<double>(4, 100));
  CHECK_FALSE(alone.disturbed);
  n = 0;
  const Samples several = take_samples(run, {.samples = 4, .alone = false});
  CHECK(several.us == std::vector<double>(4, 100));
  CHECK_FALSE(several.disturbed);
  CHECK(n <= 2 + 8);
  // Threads that spin hide the loss of a core from the clocks, not from the count of switches.
  const auto hidden = [&](int64_t rounds) {
    const double us = (n++ % 4 == 0 ? 100.0 : 300.0) * static_cast<double>(rounds);
    return Stretch{us, us, us > 150.0 * static_cast<double>(rounds) ? 1 : 0};
  };
  n = 0;
  const Samples few = take_samples(hidden, {.samples = 4, .alone = false});
  CHECK(few.us[0] == 100);
  const auto never = [](int64_t rounds) {
    return Stretch{300.0 * static_cast<double>(rounds), 300.0 * static_cast<double>(rounds), 3};
  };
  const Samples none = take_samples(never, {.samples = 4, .alone = false});
  CHECK(none.disturbed);
  CHECK(none.us[0] == 300);
}

TEST_CASE("samples: those with fewer cores at work do not count") {
  // The second thread is on a core from the fifth stretch on.
  int n = 0;
  const auto run = [&](int64_t rounds) {
    const bool both = ++n > 4;
    const double us = (both ? 100.0 : 190.0) * static_cast<double>(rounds);
    return Stretch{us, us, 0, both ? 2 * us : us};
  };
  const Samples s = take_samples(run, {.samples = 4, .alone = false});
  CHECK(s.us == std::vector<double>(4, 100));
  CHECK(s.cores == doctest::Approx(2));
  CHECK_FALSE(s.disturbed);
}

TEST_CASE("samples: what takes long is sampled less, what is too slow once") {
  int64_t calls = 0;
  const auto run = [&](int64_t rounds) {
    calls += rounds;
    const double us = 5000.0 * static_cast<double>(rounds);
    return Stretch{us, us, 0};
  };
  CHECK(take_samples(run, {.samples = 5}).us.size() == 3);
  CHECK(calls == 4);
  CHECK(take_samples(run, {.samples = 5, .give_up_us = 4000}).us.size() == 1);
}
