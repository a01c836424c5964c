// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <stop_token>
#include <string>
#include <vector>

#include "include/hone/error.h"
#include "runtime/worker/process.h"

namespace hone::runtime {

/// How one trial ended.
struct Outcome {
  /// ok, slow, refused, what went wrong (wrong, clobbers, crashed, hung, ...), or lost and late:
  /// the trial says nothing.
  std::string verdict;
  std::string note;
  double median_us = 0;
  std::vector<double> samples_us;
  std::vector<double> points_us;  ///< medians where the problem says that it should be good
  bool disturbed = false;         ///< other work took cores from all samples
  double cores = 0;               ///< at work while it was timed

  bool ok() const { return verdict == "ok"; }
  /// Given up after one run, checked on one data set: no candidate for anything, nor a bug.
  bool slow() const { return verdict == "slow"; }
  bool refused() const { return verdict == "refused"; }
  /// Workers were killed from outside, again and again, or are none.
  bool lost() const { return verdict == "lost"; }
  /// The time was up before there was an answer.
  bool late() const { return verdict == "late"; }
};

/// How a trial is timed.
struct TrialTiming {
  int samples = 5;
  double sample_us = 300;
  double give_up_us = 0;   ///< one sample is enough for what takes longer; 0: never
  double hopeless_us = 0;  ///< one run is enough for what takes longer; 0: never
};

/// Trials of one problem in a worker that is replaced after every anomaly and now and then anyway.
/// A trial whose worker ends for no reason of its own is made again.
class Trials {
 public:
  using Clock = Patience::Clock;

  /// `gpu`: where trials run for a target that is one. `stop` ends what is under way.
  Trials(std::string program, std::string problem, std::string target, int gpu,
         std::stop_token stop = {})
      : program_(std::move(program)),
        problem_(std::move(problem)),
        target_(std::move(target)),
        gpu_(gpu),
        stop_(std::move(stop)) {}

  /// Starts a worker, again where it is killed meanwhile, and opens the problem in it. The failure
  /// says what is wrong with either, or is kCancelled after a stop.
  Result<Done> open();
  /// Has the worker check and time `schedule`; kCancelled after a stop.
  Result<Outcome> run(const std::string& schedule, const TrialTiming& timing);
  /// Says which schedule will be run soon, so that the worker may begin with it.
  void expect(const std::string& schedule);
  /// The next trial gets a fresh worker.
  void refresh() { worker_.reset(); }
  /// The next trials are timed with operands that lie elsewhere.
  void place_operands() { ++placement_; }
  /// A trial that takes longer than this counts as hung.
  void set_timeout_ms(int ms) { timeout_ms_ = ms; }
  /// When the time is up: who is silent then is not waited for.
  void set_deadline(Clock::time_point deadline) { deadline_ = deadline; }

 private:
  Result<Outcome> run_once(const std::string& schedule, const TrialTiming& timing);
  Result<Outcome> lost();
  Patience patience(int most_ms, bool compiles) const;

  std::string program_, problem_, target_;
  int gpu_;
  std::stop_token stop_;
  std::unique_ptr<WorkerProcess> worker_;
  int trials_ = 0;
  int64_t placement_ = 0;
  bool opened_ = false;  ///< some worker has opened the problem
  int timeout_ms_ = 20000;
  Clock::time_point deadline_ = Patience().until;
};

}  // namespace hone::runtime
