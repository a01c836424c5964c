// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <stop_token>
#include <string>
#include <vector>

namespace hone {

/// How carefully a tuning run looks. Either uses its budget, unless the machine's limit is reached.
enum class Effort : uint8_t {
  kQuick,  ///< seconds an op, within about 10% of full: short samples, soon past what rules derive
  kFull,   ///< longer samples, and more of what the rules derive before steps are varied
};

/// How candidates are chosen.
enum class Strategy : uint8_t { kEvolve, kRandom, kDescent };

/// What a tuning run reports while it goes on.
struct TuneProgress {
  int64_t trials = 0;     ///< candidates measured or refused so far, earlier runs' included
  int64_t failed = 0;     ///< of those: wrong, crashed or timed out, and quarantined
  double default_us = 0;  ///< the untuned schedule's median
  double best_us = 0;     ///< the best median so far; 0 before the first
  double of_limit = 0;    ///< share of the machine's limit that the best reaches; 0: unknown
  std::chrono::duration<double> elapsed{0};
  std::chrono::duration<double> left{0};  ///< of the budget; 0 where it is counted in trials
  std::string best;                       ///< the best schedule so far
};

/// One candidate of a tuning run, as its log has it.
struct TuneTrial {
  int64_t number = 0;    ///< from 0 on; a run that is taken up goes on counting
  std::string schedule;  ///< what was tried
  /// ok, slow (given up as far from the best), refused, or what went wrong: wrong, crashed, hung
  std::string verdict;
  double time_us = 0;  ///< median; 0 where nothing was timed
  double elapsed = 0;  ///< seconds since the run began
  std::string note;    ///< why it was refused or failed
};

/// Options of Engine::tune; all optional.
struct TuneOptions {
  /// Wall time to spend; 0: no limit but `trials` and the effort's own end.
  std::chrono::milliseconds budget{10'000};
  /// Trials to make; 0: no limit.
  int64_t trials = 0;
  Effort effort = Effort::kQuick;
  /// The search is a function of the seed and of the trials made.
  uint64_t seed = 1;
  Strategy strategy = Strategy::kEvolve;
  /// Called on the tuning thread, a few times a second at most and once at the end.
  std::function<void(const TuneProgress&)> progress = {};
  /// Called on the tuning thread after each candidate.
  std::function<void(const TuneTrial&)> trial = {};
  /// Stops the run soon after it is requested; what was measured is kept.
  std::stop_token stop = {};
  /// Measures again although the cache already has a tuned record.
  bool again = false;
};

/// Why a tuning run ended.
enum class TuneEnd : uint8_t {
  kHit,        ///< the cache had a record: nothing was measured
  kBudget,     ///< the time was spent
  kConverged,  ///< nothing improved any more, in a run without a budget of time or trials
  kLimit,      ///< the machine's limit was reached, to 97%
  kStopped,    ///< by the stop token
  kTrials,     ///< the trials were spent
  kExhausted,  ///< nothing new was left to try
};

/// What a tuning run found where the problem says that it should be good (`at`).
struct TunePoint {
  std::string at;       ///< dims known at the call, `M=8 L=3`
  double time_us = 0;   ///< median of the winner
  double limit_us = 0;  ///< what the machine's limit allows there; 0: unknown
  double of_limit = 0;  ///< share of the limit, 0..1; 0: unknown
};

/// What a tuning run found. Times are of one call by a caller who calls now and then. Where a
/// problem names several points (`M=1..64 at 1,8,64`), they are geometric means over the points.
struct TuneResult {
  std::string problem;  ///< canonical texts
  std::string target;
  std::string schedule;  ///< the winner
  std::string numerics;  ///< its numerics class
  TuneEnd end = TuneEnd::kHit;
  double time_us = 0;      ///< median of the winner
  double time_low_us = 0;  ///< the middle half of its rounds: from here
  double time_high_us = 0;
  double default_us = 0;  ///< median of the untuned schedule; 0: not measured
  double default_low_us = 0;
  double default_high_us = 0;
  /// How many times faster than untuned, both measured in turns; 0 where too few rounds say so.
  double speedup = 0;
  int rounds = 0;        ///< of the final ranking, those that count; 0: nothing was ranked
  int noisy_rounds = 0;  ///< those that do not: another process had a core, or times jumped
  double limit_us = 0;   ///< what the machine's limit allows; 0: unknown
  double of_limit = 0;   ///< share of that limit, 0..1; 0: unknown, as on a hit, or `busy`
  /// The winner is faster than the limit as measured: the machine was too busy to measure it.
  bool busy = false;
  std::vector<TunePoint> points;  ///< each point; empty where they were not ranked
  int64_t trials = 0;             ///< made by this run
  int64_t measured = 0;           ///< of those, timed
  int64_t rejected = 0;           ///< of those, refused as illegal or unsupported
  int64_t failed = 0;             ///< of those, quarantined: wrong, crashed or timed out
  double seconds = 0;             ///< wall time of this run
  /// The share of the winner's time that as many trials again should save. It is what the last half
  /// of the trials saved, and no more than the limit leaves. 0 on a hit.
  double expected_gain = 0;
};

}  // namespace hone
