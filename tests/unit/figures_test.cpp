// SPDX-License-Identifier: Apache-2.0
// The figures that run, tune and bench tell: limits, shares, samples and their spread.
#include <doctest/doctest.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "include/hone/hone.h"
#include "jit/code.h"
#include "jit/passes/lower.h"
#include "runtime/cache/cache.h"
#include "runtime/machine/ceilings.h"
#include "runtime/measure/bound.h"
#include "runtime/measure/limits.h"
#include "runtime/measure/samples.h"
#include "runtime/measure/spread.h"
#include "runtime/tune/tune.h"
#include "schedules/search/random_steps.h"
#include "schedules/space/space.h"

using namespace hone;
using namespace hone::runtime;

namespace {

/// A store that is a map.
struct Kept {
  std::map<std::string, double> rates;
  CeilingStore store() {
    return {[this](const std::string& name) { return rates.count(name) ? rates[name] : 0; },
            [this](const std::string& name, double rate) { rates[name] = rate; }};
  }
};

/// A probe that sees these rates one after the other.
Ceilings::Probe sees(std::vector<double> rates, int* probes) {
  return [rates = std::move(rates), probes] {
    return rates[std::min(static_cast<size_t>((*probes)++), rates.size() - 1)];
  };
}

ir::Program program_of(const std::string& problem) {
  auto parsed = ops::parse_problem(problem);
  REQUIRE(parsed);
  return parsed->program;
}

ir::Target wide_target() {
  auto target = ir::parse_target("x86 isa=avx512 threads=2 l1d=32K l2=1M l3=32M", {});
  REQUIRE(target);
  return *target;
}

/// Tunes a problem with a worker to whom every schedule takes 100 us, 50, 100 and 200 at points,
/// under limits that are given.
Result<TuneResult> tune_under(const std::string& problem, const TuneOptions& options,
                              std::function<std::vector<double>()> limits, Cache& cache) {
  auto parsed = ops::parse_problem(problem);
  REQUIRE(parsed);
  const ir::Target target = wide_target();
  const auto worker =
      std::filesystem::read_symlink("/proc/self/exe").parent_path() / "unit/fickle_worker";
  const TuneJob job{*parsed,
                    target,
                    {parsed->text, ir::print(target), jit::kCodeGeneration},
                    cache,
                    options,
                    worker,
                    0,
                    std::move(limits),
                    {}};
  return tune(job);
}

Cache memory() { return Cache({.path = ":memory:", .shipped = "", .notice = {}}); }

TuneOptions so_many_trials(int64_t n) {
  TuneOptions o;
  o.budget = std::chrono::milliseconds(0);
  o.trials = n;
  return o;
}

}  // namespace

TEST_CASE("tune: it uses the trials that it is given unless the limit is reached") {
  // The rules see a handful of schedules.
  const std::string small = "softmax M=256 N=10";
  Cache near_cache = memory(), far_cache = memory(), unknown_cache = memory();
  const auto near = tune_under(
      small, so_many_trials(60), [] { return std::vector{98.0}; }, near_cache);
  REQUIRE(near);
  CHECK(near->end == TuneEnd::kLimit);
  CHECK(near->trials < 60);
  CHECK(near->of_limit == doctest::Approx(0.98));
  CHECK(near->expected_gain <= 0.02);
  const auto far = tune_under(
      small, so_many_trials(60), [] { return std::vector{70.0}; }, far_cache);
  REQUIRE(far);
  CHECK(far->end == TuneEnd::kTrials);
  CHECK(far->trials == 60);
  CHECK(far->of_limit == doctest::Approx(0.7));
  // All take 100 us here: nothing improves.
  CHECK(far->expected_gain == 0);
  const auto unknown = tune_under(small, so_many_trials(60), {}, unknown_cache);
  REQUIRE(unknown);
  CHECK(unknown->end == TuneEnd::kTrials);
  CHECK(unknown->trials == 60);
  CHECK(unknown->of_limit == 0);
  CHECK(unknown->limit_us == 0);
  CHECK_FALSE(unknown->busy);
  // What was tried is not tried again, whatever it was made of.
  std::set<std::string> texts;
  const auto log = far_cache.trials({far->problem, far->target, jit::kCodeGeneration});
  for (const Trial& t : log) texts.insert(t.schedule);
  CHECK(texts.size() == 60);
}

TEST_CASE("tune: the time ends it where that is the budget") {
  TuneOptions options;
  options.budget = std::chrono::milliseconds(400);
  Cache cache = memory();
  const auto timed = tune_under(
      "softmax M=256 N=10", options, [] { return std::vector{70.0}; }, cache);
  REQUIRE(timed);
  CHECK(timed->end == TuneEnd::kBudget);
}

TEST_CASE("tune: the same seed and times propose the same schedules, steps included") {
  const std::string small = "softmax M=256 N=10";
  Cache first_cache = memory(), second_cache = memory(), other_cache = memory();
  const auto log_of = [&](Cache& cache, uint64_t seed) {
    TuneOptions options = so_many_trials(50);
    options.seed = seed;
    const auto r = tune_under(small, options, {}, cache);
    REQUIRE(r);
    std::vector<std::string> texts;
    for (const Trial& t : cache.trials({r->problem, r->target, jit::kCodeGeneration})) {
      texts.push_back(t.schedule);
    }
    return texts;
  };
  const std::vector<std::string> first = log_of(first_cache, 1);
  CHECK(first.size() == 50);
  CHECK(log_of(second_cache, 1) == first);
  CHECK(log_of(other_cache, 2) != first);
}

TEST_CASE("tune: where nothing else can be measured the plain loops are") {
  Cache cache = memory();
  ::setenv("HONE_REFUSES", "1", 1);
  const auto r = tune_under("matmul M=24 N=40 K=56", so_many_trials(2), {}, cache);
  ::unsetenv("HONE_REFUSES");
  REQUIRE(r);
  CHECK(r->schedule.empty());
  CHECK(r->time_us == 100);
  CHECK(r->rejected >= 2);
}

TEST_CASE("tune: a limit measured in a busy moment ends nothing") {
  Cache cache = memory();
  // It seems reached, and is not when looked at again; then it is beaten, which cannot be.
  int looks = 0;
  const auto r = tune_under(
      "softmax M=256 N=10", so_many_trials(20),
      [&] { return std::vector{++looks == 1 ? 99.0 : 170.0}; }, cache);
  REQUIRE(r);
  CHECK(r->end != TuneEnd::kLimit);
  CHECK(looks >= 2);
  CHECK(r->busy);
  CHECK(r->of_limit == 0);
  CHECK(r->limit_us == doctest::Approx(170));
  Cache other = memory();
  const auto there = tune_under(
      "softmax M=256 N=10", so_many_trials(20), [] { return std::vector{99.0}; }, other);
  REQUIRE(there);
  CHECK(there->end == TuneEnd::kLimit);
  CHECK(there->trials == 1);
}

TEST_CASE("tune: several points, each with its share, and their mean") {
  Cache cache = memory();
  const std::string problem = "fc_relu M=1..64 at 1,8,64 N=32 K=16";
  const auto r = tune_under(
      problem, so_many_trials(3),
      [] {
        return std::vector{25.0, 80.0, 190.0};
      },
      cache);
  REQUIRE(r);
  REQUIRE(r->points.size() == 3);
  CHECK(r->points[0].at == "M=1");
  CHECK(r->points[2].at == "M=64");
  CHECK(r->points[0].time_us == doctest::Approx(50));
  CHECK(r->points[0].of_limit == doctest::Approx(0.5));
  CHECK(r->points[1].of_limit == doctest::Approx(0.8));
  CHECK(r->points[2].of_limit == doctest::Approx(0.95));
  CHECK(r->of_limit == doctest::Approx(std::cbrt(0.5 * 0.8 * 0.95)));
  CHECK(r->limit_us == doctest::Approx(std::cbrt(25.0 * 80 * 190)));
  CHECK(r->rounds >= 3);
  CHECK(r->noisy_rounds == 0);
  CHECK(r->speedup == doctest::Approx(1));
  CHECK(r->time_low_us == doctest::Approx(100));
  CHECK(r->time_high_us == doctest::Approx(100));
}

TEST_CASE("tune: a search that is taken up has its limit, a hit has none") {
  Cache cache = memory();
  std::stop_source source;
  TuneOptions options = so_many_trials(40);
  options.stop = source.get_token();
  options.progress = [&](const TuneProgress& p) {
    CHECK(p.of_limit == doctest::Approx(0.3));
    source.request_stop();
  };
  const auto limits = [] { return std::vector{30.0}; };
  const std::string problem = "softmax M=256 N=10";
  const auto stopped = tune_under(problem, options, limits, cache);
  REQUIRE(stopped);
  CHECK(stopped->end == TuneEnd::kStopped);
  options.stop = {};
  options.progress = {};
  const auto more = tune_under(problem, options, limits, cache);
  REQUIRE(more);
  CHECK(more->end == TuneEnd::kTrials);
  CHECK(more->limit_us == doctest::Approx(30));
  CHECK(more->of_limit == doctest::Approx(0.3));
  const auto hit = tune_under(problem, options, limits, cache);
  REQUIRE(hit);
  CHECK(hit->end == TuneEnd::kHit);
  CHECK(hit->of_limit == 0);
  CHECK(hit->limit_us == 0);
  CHECK(hit->speedup == 0);
}

TEST_CASE("steps: a variation of a schedule applies, lowers, and repeats no step") {
  const ir::Program program = program_of("softmax M=64 N=100");
  const ir::Target target = wide_target();
  auto base = schedules::default_schedule(program, target);
  std::set<std::string> texts;
  for (uint64_t seed = 0; seed < 40; ++seed) {
    const schedules::Schedule varied = schedules::RandomSchedules(program, target, seed).vary(base);
    CAPTURE(varied.text());
    const auto applied = schedules::apply(program, varied);
    REQUIRE(applied);
    CHECK(jit::lower(*applied, target));
    const std::vector<std::string> steps = varied.texts();
    CHECK(std::set(steps.begin(), steps.end()).size() == steps.size());
    // Again from the same seed it is the same.
    CHECK(schedules::RandomSchedules(program, target, seed).vary(base) == varied);
    if (texts.insert(varied.text()).second && seed % 4 == 0) base = varied;
  }
  CHECK(texts.size() > 20);
}

TEST_CASE("ceilings: the best that was ever seen counts, whatever a busy moment shows") {
  Kept kept;
  int probes = 0;
  {
    Ceilings first(kept.store());
    CHECK(first.rate("f32", sees({422, 239, 430}, &probes)) == 422);
    first.again();
    CHECK(first.rate("f32", {}) == 422);
    first.again();
    CHECK(first.rate("f32", {}) == 430);
    CHECK(probes == 3);
  }
  CHECK(kept.rates["f32"] == 430);
  Ceilings later(kept.store());
  CHECK(later.rate("f32", sees({239}, &probes)) == 430);
  CHECK(kept.rates["f32"] == 430);
  // What no load explains is of another machine, or no figure at all.
  kept.rates["f64"] = 1e300;
  CHECK(later.rate("f64", sees({100}, &probes)) == 100);
  kept.rates["l1"] = std::nan("");
  CHECK(later.rate("l1", sees({100}, &probes)) == 100);
  kept.rates["l2"] = -5;
  CHECK(later.rate("l2", sees({100}, &probes)) == 100);
}

TEST_CASE("ceilings: only what was asked for since is measured again") {
  Ceilings ceilings;
  int a = 0, b = 0;
  ceilings.rate("a", sees({1}, &a));
  ceilings.rate("b", sees({1}, &b));
  ceilings.again();
  ceilings.rate("b", {});
  ceilings.again();
  ceilings.again();
  CHECK(a == 2);
  CHECK(b == 3);
}

TEST_CASE("ceilings: a cache keeps them for a target, the higher of two") {
  Cache cache({.path = ":memory:", .shipped = "", .notice = {}});
  CHECK(cache.ceiling("x86 a", "f32") == 0);
  cache.keep_ceiling("x86 a", "f32", 400);
  cache.keep_ceiling("x86 a", "f32", 300);
  CHECK(cache.ceiling("x86 a", "f32") == 400);
  CHECK(cache.ceiling("x86 b", "f32") == 0);
  CHECK(cache.ceiling("x86 a", "f64") == 0);
}

TEST_CASE("limits: footprints have classes, never above the footprint") {
  const ir::Target target = wide_target();
  const int64_t near = 32 * 1024 * 2 * 2 / 3;
  CHECK(footprint_class(0, target) == near);
  CHECK(footprint_class(near, target) == near);
  for (int64_t bytes = near; bytes < int64_t{1} << 27; bytes += bytes / 7) {
    const int64_t c = footprint_class(bytes, target);
    CHECK(c <= bytes);
    CHECK(c >= (bytes > (32 << 20) ? bytes / 2 - 1 : bytes * 5 / 6 - 1));
  }
  CHECK(footprint_class(int64_t{1} << 40, target) == int64_t{128} << 20);
}

TEST_CASE("limits: no kind of traffic is slower than its neighbours allow, no mix than products") {
  ir::Target target = wide_target();
  target.threads = 1;
  Limits limits(target, nullptr);
  if (target.vector_bytes() > 0 && !__builtin_cpu_supports("avx512f")) return;
  CHECK(limits.mixed_gflops(false) >= limits.gflops(false));
  CHECK(limits.gflops(false) > 1);
  for (double written : {0.0, 0.2, 1.0 / 3, 0.4, 0.5, 0.8, 1.0}) {
    CAPTURE(written);
    CHECK(limits.gbps(20'000, written) > 0.5);
    CHECK(limits.gbps(600'000, written) > 0.5);
    CHECK(limits.gbps(600'000, written, true) >= limits.gbps(600'000, written));
  }
}

TEST_CASE("shares: none where the limit is unknown, busy where none can be") {
  CHECK(share_of(0, 5).of_limit == 0);
  CHECK_FALSE(share_of(0, 5).busy);
  CHECK(share_of(5, 0).of_limit == 0);
  CHECK(share_of(4, 5).of_limit == doctest::Approx(0.8));
  CHECK(share_of(5.1, 5).of_limit == 1);
  CHECK_FALSE(share_of(5.1, 5).busy);
  for (double limit : {5.5, 8.4, 50.0}) {
    CHECK(share_of(limit, 5).of_limit == 0);
    CHECK(share_of(limit, 5).busy);
  }
}

TEST_CASE("points: every place of `at`, and the dims by name") {
  const ir::Program p = program_of("fc_relu M=1..64 at 1,8,64 N=16 K=8");
  const auto points = timing_points(p);
  REQUIRE(points.size() == 3);
  CHECK(points[0] == std::vector<int64_t>{1});
  CHECK(points[2] == timing_dims(p));
  CHECK(text_of_dims(p, points[1]) == "M=8");
  CHECK(timing_points(program_of("matmul M=3 N=3 K=3")).size() == 1);
  CHECK(timing_points(program_of("matmul M=1..7 N=3 K=3")) ==
        std::vector<std::vector<int64_t>>{{7}});
}

TEST_CASE("spread: the median and the middle half") {
  const Spread s = spread_of({5, 1, 3, 2, 4});
  CHECK(s.low == 2);
  CHECK(s.median == 3);
  CHECK(s.high == 4);
  CHECK(spread_of({}).median == 0);
  CHECK(spread_of({7}).low == 7);
  CHECK(median({1, 2}) == doctest::Approx(1.5));
}

TEST_CASE("samples: those that do not count are counted") {
  // Every third stretch loses half of its time to someone else.
  int n = 0;
  const auto run = [&](int64_t rounds) {
    const double us = 100.0 * static_cast<double>(rounds);
    const bool bad = n++ % 3 == 2;
    return Stretch{bad ? 2 * us : us, us, bad ? 1 : 0};
  };
  const Samples s = take_samples(run, {.samples = 6});
  CHECK(s.us == std::vector<double>(6, 100));
  CHECK(s.noisy >= 2);
  // Pauses are none of the time, and no loss of a core.
  const auto spaced = [&](int64_t calls) {
    const double us = 10.0 * static_cast<double>(calls),
                 pauses = 120.0 * static_cast<double>(calls);
    return Stretch{us, us + pauses, 0, us + pauses, pauses};
  };
  const Samples few = take_samples(spaced, {.samples = 4, .alone = false, .most_calls = 8});
  CHECK(few.us == std::vector<double>(4, 10));
  CHECK(few.noisy == 0);
}
