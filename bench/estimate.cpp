// SPDX-License-Identifier: Apache-2.0
// How well the cost model ranks: estimates against measured times of varied schedules.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <iostream>
#include <map>
#include <numeric>

#include "bench/suites.h"
#include "runtime/measure/correlation.h"
#include "runtime/tune/fitting.h"
#include "runtime/tune/trials.h"
#include "schedules/model/model.h"
#include "schedules/search/variety.h"

namespace hone::bench {
namespace {

using Clock = std::chrono::steady_clock;
using runtime::Json;

constexpr const char* kRun = "variety seed=1";  // names the log
constexpr uint64_t kSeed = 1;
constexpr size_t kFewest = 6;        // schedules of a problem that a correlation says anything of
constexpr double kGiveUp = 4;        // one sample is enough of what takes so many times the best
constexpr double kHopeless = 30;     // one run is enough of what takes so many times the best
constexpr double kHopelessUs = 2e4;  // and at least so long
constexpr int kTrialRounds = 3;      // through all schedules, of which the least time counts

/// One problem's schedules: what they took, and what the model said.
struct Ranked {
  std::vector<double> times_us, cycles;
  double estimate_us = 0;  ///< that an estimate takes, lowering included
};

class EstimateSuite {
 public:
  EstimateSuite(const Options& options, std::shared_ptr<runtime::EngineState> engine)
      : options_(options),
        engine_(std::move(engine)),
        weights_(runtime::weights_for_search(engine_->log())) {}

  Result<Done> judge(const std::string& text);
  void summarise() const;

 private:
  Result<std::map<std::string, double>> times_of(const ops::Problem& problem);
  Result<Done> measure(const ops::Problem& problem, const std::vector<std::string>& schedules,
                       std::map<std::string, double>* times);
  void show(const ops::Problem& problem, const Ranked& ranked);

  const Options& options_;
  std::shared_ptr<runtime::EngineState> engine_;
  const schedules::Terms weights_;  ///< as a search would have them
  std::vector<double> correlations_;
  double loss_logs_ = 0, estimate_us_ = 0;
  size_t schedules_ = 0;
};

/// Times those that the log lacks, round by round, so that a busy moment spoils no schedule's. What
/// the rounds found is added to the log.
Result<Done> EstimateSuite::measure(const ops::Problem& problem,
                                    const std::vector<std::string>& schedules,
                                    std::map<std::string, double>* times) {
  std::vector<std::pair<std::string, runtime::Outcome>> found;
  for (const std::string& s : schedules) {
    if (times->count(s) == 0) found.emplace_back(s, runtime::Outcome());
  }
  if (found.empty()) return Done{};
  runtime::Trials trials(runtime::find_worker(engine_->options.worker), problem.text,
                         engine_->target_text, engine_->options.gpu);
  if (auto f = trials.open(); !f) return f.failure();
  double best = 0;
  for (int round = 0; round < kTrialRounds; ++round) {
    for (auto& [schedule, outcome] : found) {
      if (round > 0 && !outcome.ok()) continue;
      runtime::TrialTiming timing;
      timing.give_up_us = kGiveUp * best;
      timing.hopeless_us = best > 0 ? std::max(kHopelessUs, kHopeless * best) : 0;
      auto tried = trials.run(schedule, timing);
      if (!tried) return tried.failure();
      if (tried->ok() && (best == 0 || tried->median_us < best)) best = tried->median_us;
      const bool better = tried->ok() && tried->median_us < outcome.median_us;
      if (round == 0 || better) outcome = *tried;
    }
  }
  auto number = static_cast<int64_t>(times->size());
  for (const auto& [schedule, o] : found) {
    if (o.lost() || o.late()) continue;
    engine_->cache->log(
        {engine_->key_of(problem.text), kRun, number++, schedule, o.verdict, o.median_us, o.note});
    (*times)[schedule] = o.ok() || o.slow() ? o.median_us : 0;
  }
  return Done{};
}

/// Schedules of a problem and their times; 0 for what was refused or wrong.
Result<std::map<std::string, double>> EstimateSuite::times_of(const ops::Problem& problem) {
  std::map<std::string, double> times, wanted;
  for (const runtime::Trial& t : engine_->cache->trials(engine_->key_of(problem.text))) {
    const bool timed = t.verdict == runtime::kVerdictOk || t.verdict == "slow";
    if (t.run == kRun) times[t.schedule] = timed ? t.median_us : 0;
  }
  const std::vector<std::string> schedules = schedules::variety(
      problem.program, engine_->target, static_cast<size_t>(options_.schedules), kSeed);
  if (auto f = measure(problem, schedules, &times); !f) return f.failure();
  for (const std::string& s : schedules) wanted[s] = times.count(s) != 0 ? times[s] : 0;
  return wanted;
}

Result<Done> EstimateSuite::judge(const std::string& text) {
  auto problem = engine_->parse(text);
  if (!problem) return problem.failure();
  auto times = times_of(*problem);
  if (!times) return times.failure();
  Ranked ranked;
  Clock::duration spent{};
  for (const auto& [schedule, us] : *times) {
    if (us <= 0) continue;
    const auto begin = Clock::now();
    const auto parsed = schedules::Schedule::parse(schedule);
    const auto program = schedules::apply(problem->program, *parsed);
    const double cycles = schedules::estimate(*program, engine_->target, weights_);
    spent += Clock::now() - begin;
    if (!std::isfinite(cycles)) continue;
    ranked.times_us.push_back(us);
    ranked.cycles.push_back(cycles);
  }
  if (ranked.times_us.size() < kFewest) return Done{};
  ranked.estimate_us = std::chrono::duration<double, std::micro>(spent).count() /
                       static_cast<double>(ranked.times_us.size());
  show(*problem, ranked);
  return Done{};
}

void EstimateSuite::show(const ops::Problem& problem, const Ranked& r) {
  const double correlation = runtime::rank_correlation(r.cycles, r.times_us);
  const auto cheapest = std::min_element(r.cycles.begin(), r.cycles.end()) - r.cycles.begin();
  const double best = *std::min_element(r.times_us.begin(), r.times_us.end());
  const double worst = *std::max_element(r.times_us.begin(), r.times_us.end());
  const double loss = r.times_us[static_cast<size_t>(cheapest)] / best;
  correlations_.push_back(correlation);
  loss_logs_ += std::log(loss);
  estimate_us_ += r.estimate_us * static_cast<double>(r.times_us.size());
  schedules_ += r.times_us.size();
  if (options_.common.json) {
    runtime::print_line({{"problem", problem.text},
                         {"target", engine_->target_text},
                         {"schedules", r.times_us.size()},
                         {"rank_correlation", correlation},
                         {"best_us", best},
                         {"worst_us", worst},
                         {"cheapest_over_best", loss},
                         {"estimate_us", r.estimate_us}});
    return;
  }
  std::cout << fmt::format("{:>6.2f}  {:>3} schedules, {:.2f} to {:.2f} us; {:.2f}x  {}\n",
                           correlation, r.times_us.size(), best, worst, loss, problem.text)
            << std::flush;
}

void EstimateSuite::summarise() const {
  if (correlations_.empty()) return;
  std::vector<double> sorted = correlations_;
  std::sort(sorted.begin(), sorted.end());
  const auto n = static_cast<double>(sorted.size());
  const double mean = std::accumulate(sorted.begin(), sorted.end(), 0.0) / n;
  const double tenth = sorted[sorted.size() / 10], loss = std::exp(loss_logs_ / n);
  const double each_us = estimate_us_ / static_cast<double>(schedules_);
  const auto fitting = runtime::fit_to_log(engine_->log());
  if (options_.common.json) {
    runtime::print_line({{"problems", sorted.size()},
                         {"schedules", schedules_},
                         {"mean", mean},
                         {"median", sorted[sorted.size() / 2]},
                         {"percentile_10", tenth},
                         {"cheapest_over_best", loss},
                         {"estimate_us", each_us},
                         {"fitted_mean", fitting ? Json(fitting->rank_after) : Json()}});
    return;
  }
  std::cout << fmt::format(
      "rank correlation of estimate and time over {} problems, {} schedules: mean {:.3f}, median "
      "{:.3f}, 10th percentile {:.3f}; the cheapest takes {:.2f} times the best; an estimate takes "
      "{:.0f} us\n",
      sorted.size(), schedules_, mean, sorted[sorted.size() / 2], tenth, loss, each_us);
  if (!fitting) return;
  std::cout << fmt::format(
      "fitted to all {} schedules that are logged of {} problems: mean {:.3f}\n", fitting->timed,
      fitting->problems, fitting->rank_after);
}

}  // namespace

int run_estimate(const Options& options) {
  auto engine = runtime::open_engine(options.common);
  if (!engine) return runtime::report(options.common, engine.failure());
  if (auto added = (*engine)->add_ops(outside_ops(), "bench/outside"); !added) {
    return runtime::report(options.common, added.failure());
  }
  const auto begin = Clock::now();
  EstimateSuite suite(options, *engine);
  int exit = runtime::kExitOk;
  for (const std::string& text :
       options.problems.empty() ? suite_problems("all") : options.problems) {
    const std::chrono::duration<double, std::ratio<60>> spent = Clock::now() - begin;
    if (options.minutes > 0 && spent.count() >= options.minutes) break;
    auto done = suite.judge(text);
    if (!done) exit = std::max(exit, runtime::report(options.common, done.failure()));
  }
  suite.summarise();
  return exit;
}

}  // namespace hone::bench
