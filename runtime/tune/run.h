// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <string>
#include <unordered_map>
#include <vector>

#include "runtime/tune/trials.h"
#include "runtime/tune/tune.h"
#include "schedules/search/search.h"

namespace hone::runtime {

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
  Result<std::monostate> search();
  Result<std::monostate> attempt(const schedules::Candidate& candidate);
  void note(const schedules::Candidate& candidate, const std::string& schedule,
            const Outcome& outcome);
  void quarantine(const std::string& schedule, const Outcome& outcome);
  Result<std::monostate> rank_finalists();
  void finish_stopped();
  bool allowed(const std::string& schedule) const;
  double cost(const schedules::Candidate& candidate) const;
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
  size_t resumed_ = 0;      ///< entries of the log that an earlier run made
  size_t improved_at_ = 0;  ///< size of the log at the last improvement
  TuneEnd end_ = TuneEnd::kConverged;
  double default_us_ = 0;
  double best_us_ = 0;
  std::string best_;
  std::vector<double> best_samples_;
  std::unordered_map<std::string, double> ranked_us_;  ///< medians of the finalists, side by side
  std::string last_trouble_;  ///< what came of the last candidate that could not be measured
  int64_t measured_ = 0, refused_ = 0, failed_ = 0;
};

}  // namespace hone::runtime
