// SPDX-License-Identifier: Apache-2.0
// The cost model: its terms, the fit of their weights to logged trials, and how well it ranks.
#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "jit/code.h"
#include "jit/passes/lower.h"
#include "ops/op.h"
#include "runtime/measure/correlation.h"
#include "runtime/tune/fitting.h"
#include "runtime/tune/gain.h"
#include "schedules/model/fit.h"
#include "schedules/schedule.h"
#include "schedules/search/variety.h"

using namespace hone;
using namespace hone::runtime;
using schedules::Term;
using schedules::Terms;

namespace {

constexpr double kInfinite = std::numeric_limits<double>::infinity();

ir::Target machine() {
  const auto target = ir::parse_target("x86 isa=avx512 threads=1 l1d=32K l2=1M l3=16M", {});
  REQUIRE(target);
  return *target;
}

Terms terms_of(const std::string& problem, const std::string& schedule) {
  const auto parsed = ops::parse_problem(problem);
  REQUIRE(parsed);
  const auto steps = schedules::Schedule::parse(schedule);
  REQUIRE(steps);
  const auto program = schedules::apply(parsed->program, *steps);
  REQUIRE(program);
  const auto nest = jit::lower(*program, machine());
  REQUIRE(nest);
  return schedules::terms_of(*nest, machine());
}

double of(const Terms& terms, Term term) { return terms[static_cast<size_t>(term)]; }

Terms with(Terms weights, Term term, double weight) {
  weights[static_cast<size_t>(term)] = weight;
  return weights;
}

/// Schedules of three problems, whose times are what `weights` make of random terms, give or take
/// `noise`. Each problem has a clock of its own.
std::vector<schedules::Timed> synthetic(const Terms& weights, double noise) {
  std::mt19937_64 random(7);
  const auto part = [&] { return static_cast<double>(random() >> 11) * 0x1.0p-53; };
  std::vector<schedules::Timed> out;
  for (int problem = 0; problem < 3; ++problem) {
    for (int i = 0; i < 60; ++i) {
      schedules::Timed t;
      t.problem = problem;
      t.terms[static_cast<size_t>(Term::kIssue)] = 1000 + 2000 * part();
      t.terms[static_cast<size_t>(Term::kLoops)] = 1000 * part();
      t.terms[static_cast<size_t>(Term::kL2)] = 5000 * part();
      t.time_us = (problem + 1) * schedules::weigh(t.terms, weights) * (1 + noise * (part() - 0.5));
      out.push_back(t);
    }
  }
  return out;
}

Cache memory() { return Cache({.path = ":memory:", .shipped = "", .notice = {}}); }

Result<ops::Problem> read_problem(const std::string& text) { return ops::parse_problem(text); }

}  // namespace

TEST_CASE("estimate: rank correlation of few pairs") {
  const auto rho = [](std::vector<double> a, std::vector<double> b) {
    return rank_correlation(a, b);
  };
  CHECK(rho({1, 2, 3}, {10, 20, 1000}) == doctest::Approx(1));
  CHECK(rho({1, 2, 3}, {3, 2, 1}) == doctest::Approx(-1));
  // 1 - 6 * (0 + 1 + 1 + 0) / (4 * 15)
  CHECK(rho({1, 2, 3, 4}, {1, 3, 2, 4}) == doctest::Approx(0.8));
  // Ties share a rank: 0, 1.5, 1.5, 3 against 0, 1, 2, 3.
  CHECK(rho({1, 2, 2, 3}, {1, 2, 3, 4}) == doctest::Approx(4.5 / std::sqrt(4.5 * 5)));
  CHECK(rho({1, 1, 1}, {1, 2, 3}) == 0);
  CHECK(rho({1}, {1}) == 0);
  CHECK(rho({}, {}) == 0);
}

TEST_CASE("estimate: a fit finds the weights that times were made with") {
  const Terms start = schedules::default_weights();
  const Terms truth = with(with(start, Term::kLoops, 6), Term::kL2, 0.5);
  const schedules::Fit exact = schedules::fit(synthetic(truth, 0), start);
  CHECK(of(exact.weights, Term::kLoops) == doctest::Approx(6).epsilon(0.1));
  CHECK(of(exact.weights, Term::kL2) == doctest::Approx(0.5).epsilon(0.15));
  CHECK(exact.error < 0.02);
  const schedules::Fit noisy = schedules::fit(synthetic(truth, 0.1), start);
  CHECK(of(noisy.weights, Term::kLoops) == doctest::Approx(6).epsilon(0.15));
  CHECK(noisy.error < schedules::error_of(synthetic(truth, 0.1), start));
}

TEST_CASE("estimate: a fit moves nothing that the times say nothing of, and no weight below zero") {
  const Terms start = schedules::default_weights();
  // What costs nothing, or would even gain, comes down and stays positive.
  const Terms truth = with(with(start, Term::kLoops, 0), Term::kL2, -0.02);
  const schedules::Fit fit = schedules::fit(synthetic(truth, 0), start);
  for (size_t t = 0; t < schedules::kTerms; ++t) CHECK(fit.weights[t] >= 0);
  CHECK(of(fit.weights, Term::kLoops) < of(start, Term::kLoops) / 2);
  for (Term same : {Term::kPorts, Term::kIssue, Term::kSpills, Term::kMemory, Term::kThreads}) {
    CHECK(of(fit.weights, same) == of(start, same));
  }
  CHECK(schedules::fit({}, start).weights == start);
  const schedules::Fit again = schedules::fit(synthetic(truth, 0), start);
  CHECK(again.weights == fit.weights);
}

TEST_CASE("estimate: weights as text") {
  const Terms weights = with(schedules::default_weights(), Term::kL3, 12.5);
  CHECK(schedules::parse_weights(schedules::print_weights(weights)) == weights);
  CHECK(schedules::parse_weights("") == schedules::default_weights());
  CHECK(schedules::parse_weights("loops=7 future=3 l2=-1 l3=inf chain=1x") ==
        with(schedules::default_weights(), Term::kLoops, 7));
}

TEST_CASE("estimate: terms see what the ports do not") {
  const std::string sum = "op rows(X: f32[M,N]) -> (y: f32[M]) { y[i] = sum[j](X[i,j]) } ";
  const std::string copy = "op turn(X: f32[M,N]) -> (Y: f32[N,M]) { Y[j,i] = X[i,j] } ";
  // 16 KB stay in the first level, 4 MB come from the third.
  CHECK(of(terms_of(sum + "M=8 N=256", ""), Term::kL2) == 0);
  const Terms far = terms_of(sum + "M=1024 N=1024", "");
  CHECK(of(far, Term::kL2) >= 65536);
  CHECK(of(far, Term::kL3) >= 65536);
  CHECK(of(far, Term::kMemory) == 0);
  // One sum after the other in a row waits; 16 side by side do not.
  CHECK(of(terms_of(sum + "M=8 N=256", ""), Term::kChain) > 0);
  CHECK(of(terms_of(sum + "M=64 N=256", "reorder y/j y/i; vectorize y/i"), Term::kChain) == 0);
  // Lanes that are stored or loaded one by one.
  CHECK(of(terms_of(copy + "M=64 N=64", "vectorize Y/i"), Term::kScattered) > 0);
  CHECK(of(terms_of(sum + "M=64 N=256", "vectorize y/j"), Term::kScattered) == 0);
  CHECK(of(terms_of(sum + "M=64 N=256", "vectorize y/j"), Term::kHorizontal) > 0);
}

TEST_CASE("estimate: elements near together are shuffled where their places stay") {
  const auto scattered = [](const std::string& index, const std::string& more) {
    const std::string op = "op f(X: f32[N]) -> (Y: f32[N]) { Y[i] = X[" + index + "] } N=4096";
    return of(terms_of(op, "split Y/i 16 -> o l tail=peel; vectorize Y/l" + more),
              Term::kScattered);
  };
  CHECK(scattered("i/2", "") == 0);
  CHECK(scattered("i/16*16", "") == 0);
  CHECK(scattered("i*7%4096", "") > 0);
  // The border moves with the loop: a piece for it leaves the others.
  const std::string clamped = "max(0, i/2 - 1)";
  CHECK(scattered(clamped, "") > 0);
  CHECK(scattered(clamped, "; partition Y/o") == 0);
}

TEST_CASE("estimate: varied schedules are many, all different, the same each time") {
  const auto problem = ops::parse_problem("matmul M=64 N=96 K=128");
  REQUIRE(problem);
  const auto all = schedules::variety(problem->program, machine(), 24, 1);
  CHECK(all.size() == 24);
  CHECK(std::set<std::string>(all.begin(), all.end()).size() == 24);
  CHECK(schedules::variety(problem->program, machine(), 24, 1) == all);
  CHECK(schedules::variety(problem->program, machine(), 24, 2) != all);
}

TEST_CASE("estimate: weights are fitted to the log of a context, kept, and found again") {
  Cache cache = memory();
  const ir::Target target = machine();
  const LogContext log{cache, {"", ir::print(target), jit::kCodeGeneration}, target, read_problem};
  CHECK(weights_for_search(log) == schedules::default_weights());
  const auto none = fit_to_log(log);
  REQUIRE_FALSE(none);
  CHECK(none.failure().message.find(": 0;") != std::string::npos);
  // Loops of this machine are dear.
  const Terms truth = with(schedules::default_weights(), Term::kLoops, 9);
  int64_t number = 0;
  for (int n = 32; n < 96; n += 8) {
    const auto problem = ops::parse_problem("matmul M=" + std::to_string(n) + " N=64 K=48");
    REQUIRE(problem);
    for (const std::string& s : schedules::variety(problem->program, target, 40, 1)) {
      const Terms terms = terms_of(problem->text, s);
      cache.log({{problem->text, log.key.target, log.key.codegen},
                 "seed=1",
                 number++,
                 s,
                 std::string(kVerdictOk),
                 schedules::weigh(terms, truth) / 4000,
                 ""});
    }
    // Of another context, and refused: nothing to go by.
    cache.log({{problem->text, "x86 isa=avx2", log.key.codegen}, "seed=1", 0, "", "ok", 1, ""});
    cache.log(
        {{problem->text, log.key.target, log.key.codegen}, "seed=1", 0, "", "refused", 0, ""});
  }
  CHECK(cache.count_trials_in(log.key) == number + 8);
  const Terms first = weights_for_search(log);
  CHECK(of(first, Term::kLoops) == doctest::Approx(9).epsilon(0.2));
  const auto kept = cache.weights(log.key);
  REQUIRE(kept);
  CHECK(kept->trials == number + 8);
  CHECK(schedules::parse_weights(kept->text) == weights_for_search(log));
  const auto fitting = fit_to_log(log);
  REQUIRE(fitting);
  CHECK(fitting->problems == 8);
  CHECK(fitting->timed == number);
  CHECK(fitting->error_after < fitting->error_before);
  CHECK(fitting->rank_after >= fitting->rank_before);
  CHECK(fitting->rank_after > 0.99);
}

TEST_CASE("estimate: what going on should gain") {
  const auto gain = [](std::vector<double> times, double of_limit) {
    return expected_gain(times, of_limit);
  };
  // 10 after the first half, 8 after the second.
  const std::vector<double> falls = {12, 10, 11, kInfinite, 9, 8, 12, kInfinite};
  CHECK(gain(falls, 0) == doctest::Approx(0.2));
  CHECK(gain(falls, 0.5) == doctest::Approx(0.2));
  CHECK(gain(falls, 0.9) == doctest::Approx(0.1));
  CHECK(gain(falls, 1) == 0);
  CHECK(gain({8, 9, 9, 9, 9, 9, 9, 9}, 0.5) == 0);
  CHECK(gain({12, 10, 8}, 0) == 0);
  CHECK(gain(std::vector<double>(10, kInfinite), 0) == 0);
}
