// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "runtime/tune/trials.h"
#include "runtime/tune/tune.h"
#include "schedules/search/search.h"

namespace hone::runtime {

/// The note of a record whose run was stopped: it serves, but is not the last word.
inline constexpr std::string_view kUnfinished = "stopped before the search's end";

/// One tuning run under way; see tune().
class TuneRun {
 public:
  explicit TuneRun(const TuneJob& job);
  Result<TuneResult> go();

 private:
  using Clock = std::chrono::steady_clock;

  void resume();
  bool at_limit() const;
  bool finished();
  bool compiles(const std::string& schedule) const;
  void add_fallback();
  Result<std::monostate> try_plain_loops();
  Result<std::monostate> search();
  Result<std::monostate> attempt(const schedules::Candidate& candidate);
  std::optional<Failure> give_up(const Outcome& outcome);
  void note(const schedules::Candidate& candidate, const std::string& schedule,
            const Outcome& outcome);
  void fall_back();
  void quarantine(const std::string& schedule, const Outcome& outcome);
  TrialTiming timing(double best_us) const;
  std::vector<std::string> finalists(const std::vector<Record>& known) const;
  Result<std::monostate> rank_finalists();
  void settle_records(const std::vector<Record>& known,
                      const std::unordered_map<std::string, double>& ranked_us);
  Record record() const;
  void keep_stopped();
  bool allowed(const std::string& schedule) const;
  double cost(const schedules::Candidate& candidate);
  double estimate(const schedules::Candidate& candidate) const;
  Clock::duration search_budget() const;
  std::string text_of(const schedules::Candidate& candidate) const;
  void report(bool last);
  TuneResult result() const;

  const TuneJob& job_;
  Trials trials_;
  std::vector<schedules::Space> spaces_;
  const schedules::Strategy* strategy_;
  std::string run_;  ///< seed, strategy and effort: names the log
  std::vector<schedules::Tried> log_;
  std::unordered_map<std::string, size_t> seen_;  ///< schedule text to its entry in the log
  Clock::time_point start_ = Clock::now();
  Clock::time_point reported_;
  Clock::duration opening_{};  ///< what it took to open the problem in a worker
  std::unordered_set<std::string> quarantined_;
  bool small_ = false;                            ///< all of the space is tried
  size_t resumed_ = 0;                            ///< entries of the log that an earlier run made
  size_t improved_at_ = 0;                        ///< schedules tried at the last improvement
  std::map<schedules::Candidate, double> costs_;  ///< estimates so far
  double cheapest_ = 0;                           ///< the lowest estimate of an analytic choice
  TuneEnd end_ = TuneEnd::kConverged;
  std::string default_;  ///< the untuned schedule, or the first that is of the pinned class
  double default_us_ = 0;
  double best_us_ = 0;
  std::string best_;
  bool best_checked_ = false;  ///< by this run, not by the one whose log it took up
  std::vector<double> best_samples_;
  bool gave_up_ = false;      ///< the time was up, or no worker lasts: what is known has to do
  int lost_ = 0;              ///< trials in a row that say nothing
  std::string last_trouble_;  ///< the last candidate that could not be measured, and why
  int64_t measured_ = 0, refused_ = 0, failed_ = 0;
};

}  // namespace hone::runtime
