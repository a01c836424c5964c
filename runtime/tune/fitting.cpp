// SPDX-License-Identifier: Apache-2.0
#include "runtime/tune/fitting.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>

#include "jit/passes/lower.h"
#include "runtime/measure/bound.h"
#include "runtime/measure/correlation.h"
#include "schedules/schedule.h"

namespace hone::runtime {
namespace {

/// Chosen: noise of trials against fifteen weights; a moment of a first search (not measured).
constexpr int64_t kEnough = 256;     // trials that a fit rests on
constexpr size_t kProblems = 6;      // that they are of, at least
constexpr size_t kAtOnce = 512;      // schedules that a search fits to before it begins
constexpr size_t kByCommand = 6000;  // that the command fits to
constexpr int64_t kLonger = 4;       // times the log that was: worth another fit
constexpr size_t kFewestRanked = 6;  // schedules of which a rank correlation says anything

/// Times by schedule: of several trials of one, the least.
using Times = std::map<std::string, double>;

/// Some of a problem's schedules, evenly by time, so that good and bad ones are among them.
std::vector<std::pair<std::string, double>> some_of(const Times& times, size_t most) {
  std::vector<std::pair<std::string, double>> all(times.begin(), times.end());
  std::stable_sort(all.begin(), all.end(),
                   [](const auto& a, const auto& b) { return a.second < b.second; });
  if (all.size() <= most) return all;
  std::vector<std::pair<std::string, double>> some;
  for (size_t i = 0; i < most; ++i) some.push_back(all[i * all.size() / most]);
  return some;
}

/// The terms of a schedule; nothing where it does not apply or lower any more.
std::optional<schedules::Terms> terms_of(const ops::Problem& problem, const ir::Target& target,
                                         const std::string& schedule) {
  const auto parsed = schedules::Schedule::parse(schedule);
  if (!parsed) return std::nullopt;
  const auto program = schedules::apply(problem.program, *parsed);
  if (!program) return std::nullopt;
  const auto nest = jit::lower(*program, target);
  if (!nest) return std::nullopt;
  return schedules::terms_of(*nest, target);
}

size_t problems_of(std::span<const schedules::Timed> timed) {
  return timed.empty() ? 0 : static_cast<size_t>(timed.back().problem) + 1;
}

/// The fit to at most `most` schedules; nothing where the log does not suffice.
std::optional<Fitting> fitted(const LogContext& log, size_t most) {
  const std::vector<schedules::Timed> timed = timed_trials(log, most);
  Fitting out;
  out.logged = log.cache.count_trials_in(log.key);
  out.timed = static_cast<int64_t>(timed.size());
  out.problems = static_cast<int>(problems_of(timed));
  if (out.logged < kEnough || problems_of(timed) < kProblems) return std::nullopt;
  out.before = schedules::default_weights();
  const schedules::Fit fit = schedules::fit(timed, out.before);
  out.after = fit.weights;
  out.error_after = fit.error;
  out.error_before = schedules::error_of(timed, out.before);
  out.rank_before = mean_rank_correlation(timed, out.before);
  out.rank_after = mean_rank_correlation(timed, out.after);
  log.cache.keep_weights(log.key, {schedules::print_weights(out.after), out.logged});
  return out;
}

}  // namespace

std::vector<schedules::Timed> timed_trials(const LogContext& log, size_t most) {
  std::map<std::string, Times> problems;
  for (const Trial& t : log.cache.trials_in(log.key)) {
    if (t.median_us <= 0 || (t.verdict != kVerdictOk && t.verdict != "slow")) continue;
    double& us = problems[t.key.problem].try_emplace(t.schedule, t.median_us).first->second;
    us = std::min(us, t.median_us);
  }
  std::vector<schedules::Timed> timed;
  int number = 0;
  size_t left = problems.size();
  for (const auto& [text, times] : problems) {
    const size_t share = (most - timed.size()) / left--;
    const auto problem = log.read(text);
    if (!problem || timing_points(problem->program).size() > 1) continue;
    const size_t before = timed.size();
    for (const auto& [schedule, us] : some_of(times, share)) {
      if (const auto terms = terms_of(*problem, log.target, schedule)) {
        timed.push_back({number, *terms, us});
      }
    }
    number += timed.size() > before ? 1 : 0;
  }
  return timed;
}

double mean_rank_correlation(std::span<const schedules::Timed> timed,
                             const schedules::Terms& weights) {
  double sum = 0;
  int count = 0;
  for (size_t i = 0; i < timed.size();) {
    std::vector<double> estimates, times;
    const int problem = timed[i].problem;
    for (; i < timed.size() && timed[i].problem == problem; ++i) {
      estimates.push_back(schedules::weigh(timed[i].terms, weights));
      times.push_back(timed[i].time_us);
    }
    if (times.size() < kFewestRanked) continue;
    sum += rank_correlation(estimates, times);
    ++count;
  }
  return count > 0 ? sum / count : 0;
}

Result<Fitting> fit_to_log(const LogContext& log) {
  if (const auto fitting = fitted(log, kByCommand)) return *fitting;
  return Failure{
      ErrorCode::kNotFound,
      fmt::format("the cache has too few trials on {}: {}; a fit takes {} of {} problems that can "
                  "still be read. `hone tune` makes them, and `hone bench --suite estimate`",
                  log.key.target, log.cache.count_trials_in(log.key), kEnough, kProblems)};
}

schedules::Terms weights_for_search(const LogContext& log) {
  if (log.target.is_cuda()) return schedules::default_weights();
  const auto known = log.cache.weights(log.key);
  const int64_t logged = log.cache.count_trials_in(log.key);
  const bool again = known ? logged >= kLonger * known->trials : logged >= kEnough;
  if (again) {
    if (const auto fitting = fitted(log, kAtOnce)) return fitting->after;
  }
  return known ? schedules::parse_weights(known->text) : schedules::default_weights();
}

}  // namespace hone::runtime
