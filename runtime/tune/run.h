// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "runtime/tune/candidates.h"
#include "runtime/tune/limit_watch.h"
#include "runtime/tune/ranking.h"
#include "runtime/tune/trials.h"
#include "runtime/tune/tune.h"
#include "schedules/search/search.h"

namespace hone::runtime {

/// The note of a record whose run was stopped: it serves, but is not the last word.
inline constexpr std::string_view kUnfinished = "stopped before the search's end";

/// Prefix of the note of a trial that was made of steps, outside the spaces.
inline constexpr std::string_view kWalked = "point=steps";

/// One tuning run under way; see tune().
class TuneRun {
 public:
  explicit TuneRun(const TuneJob& job);
  Result<TuneResult> go();

 private:
  using Clock = std::chrono::steady_clock;

  /// A schedule and its time; infinite: refused or wrong.
  struct Timed {
    std::string schedule;
    double time_us = 0;
  };

  void resume();
  bool resume_point(const Trial& trial);
  bool resume_walk(const Trial& trial);
  bool finished();
  Result<Done> try_plain_loops();
  bool converged() const;
  bool bounded() const { return job_.options.budget.count() > 0 || job_.options.trials > 0; }
  std::vector<schedules::Candidate> propose_points(int count);
  Result<Done> search();
  Result<Done> search_points();
  Result<Done> walk();
  Result<Done> attempt_steps(const std::string& schedule);
  std::string vary(uint64_t number, const std::vector<Timed>& parents) const;
  std::vector<std::string> propose_steps(uint64_t round);
  Result<Done> attempt(const schedules::Candidate& candidate);
  std::optional<Failure> give_up(const Outcome& outcome);
  Result<Outcome> try_schedule(const std::string& schedule);
  void note(const std::string& origin, const std::string& schedule, const Outcome& outcome);
  void fall_back();
  void quarantine(const std::string& schedule, const Outcome& outcome);
  TrialTiming timing(double best_us) const;
  std::vector<std::string> finalists(const std::vector<Record>& known) const;
  Result<Done> rank_finalists();
  void take_ranking(const Ranking& ranking, const std::vector<std::string>& texts,
                    const std::vector<std::vector<std::vector<double>>>& points);
  void settle_records(const std::vector<Record>& known,
                      const std::unordered_map<std::string, double>& ranked_us);
  Record record() const;
  void keep_stopped();
  double cost(const schedules::Candidate& candidate);
  Clock::duration search_budget() const;
  std::vector<Timed> timed() const;
  size_t tried() const { return log_.size() + walk_.size(); }
  void report(bool last);
  TuneResult result() const;
  void tell_figures(TuneResult* result) const;

  const TuneJob& job_;
  Trials trials_;
  Clock::time_point start_ = Clock::now();
  Candidates candidates_;
  LimitWatch limits_;
  const schedules::Strategy* strategy_;
  std::string run_;                               ///< seed, strategy and effort: names the log
  std::vector<schedules::Tried> log_;             ///< points of the spaces
  std::vector<Timed> walk_;                       ///< schedules beside them, by steps
  std::unordered_map<std::string, double> seen_;  ///< schedule text to its time
  Clock::time_point reported_;
  Clock::duration opening_{};  ///< time to open the problem in a worker
  size_t resumed_ = 0;         ///< entries of the log that an earlier run made
  size_t improved_at_ = 0;     ///< schedules tried at the last improvement
  TuneEnd end_ = TuneEnd::kConverged;
  std::string default_;  ///< the untuned schedule, or the first that is of the pinned class
  double default_us_ = 0;
  double best_us_ = 0;
  std::string best_;
  bool best_checked_ = false;  ///< by this run, not by the one whose log it took up
  std::vector<double> best_samples_;
  std::vector<double> best_points_us_;  ///< medians of the best at each point
  Spread best_spread_, default_spread_;
  int rounds_ = 0, noisy_rounds_ = 0;  ///< of the ranking
  bool compared_ = false;              ///< enough of them for a ratio of default and best
  bool gave_up_ = false;      ///< the time was up, or no worker lasts: what is known has to do
  int lost_ = 0;              ///< trials in a row that say nothing
  std::string last_trouble_;  ///< the last candidate that could not be measured, and why
  int64_t measured_ = 0, refused_ = 0, failed_ = 0;
};

}  // namespace hone::runtime
