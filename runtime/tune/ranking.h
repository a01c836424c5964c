// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "include/hone/error.h"
#include "runtime/measure/spread.h"

namespace hone::runtime {

/// One measurement of a finalist.
struct RankSample {
  double time_us = 0;
  bool disturbed = false;  ///< it is known to say more than what the work took
  double cores = 0;        ///< at work meanwhile; fewer than another time says the same
};

/// How finalists are ranked.
struct RankOptions {
  int rounds = 5;  ///< undisturbed ones that are wanted; three times as many are made at most
  /// A challenger is faster by at least this share, or the incumbent stays.
  double least_gain = 0.02;
  /// Runs before each round; may be empty.
  std::function<void()> before_round = {};
  /// True when the time is up. In the first round the incumbent and the next finalist are still
  /// timed, and the rest drop out. A later round is cut short and does not count.
  std::function<bool()> out_of_time = {};
};

/// What came of a ranking.
struct Ranking {
  size_t winner = 0;
  double noise = 0;              ///< how far apart two measurements of one finalist are: a share
  std::vector<double> times_us;  ///< per finalist, all by one yardstick; 0: it dropped out
  std::vector<Spread> spreads;   ///< per finalist, of the rounds that count, as measured
  int counted = 0;               ///< rounds that were steady
  int noisy = 0;                 ///< rounds that were not: they count where too few are steady
};

/// A measurement of finalist `i`; nothing where it drops out.
using RankMeasure = std::function<Result<std::optional<RankSample>>(size_t i)>;

/// Finds the fastest of `finalists`; the first is the incumbent. Each round measures all of them in
/// turns, and the incumbent once more at the end. The two times of the incumbent tell how much of a
/// difference is noise. They also tell in which rounds the machine was busy with something else;
/// those do not count. Finalists are compared within rounds, so that drift between rounds cancels
/// out. The incumbent loses only to one that is faster by more than the noise and the least gain.
/// The noise counts only as far as a steady round may have it. Those within the noise of the
/// fastest tie, and the shortest text wins.
Result<Ranking> rank(std::span<const std::string> finalists, const RankMeasure& measure,
                     const RankOptions& options);

}  // namespace hone::runtime
