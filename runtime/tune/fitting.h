// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "include/hone/error.h"
#include "jit/ir/target.h"
#include "ops/op.h"
#include "runtime/cache/cache.h"
#include "schedules/model/fit.h"

namespace hone::runtime {

/// Reads a problem's text, with the ops that an engine knows.
using ReadProblem = std::function<Result<ops::Problem>(const std::string& text)>;

/// Whose trials are looked at, and how.
struct LogContext {
  Cache& cache;
  Key key;  ///< its context counts, not its problem
  const ir::Target& target;
  ReadProblem read;
};

/// The schedules that were timed, of all tuning runs in a context: at most `most`, of each problem
/// alike, good and bad ones. Problems of several points are left out, and what no longer lowers.
std::vector<schedules::Timed> timed_trials(const LogContext& log, size_t most);

/// The mean over problems of the rank correlation of estimates and times; problems with few
/// schedules do not count. 0 where none does.
double mean_rank_correlation(std::span<const schedules::Timed> timed,
                             const schedules::Terms& weights);

/// What a fit changed.
struct Fitting {
  schedules::Terms before{}, after{};  ///< weights
  double error_before = 0, error_after = 0;
  double rank_before = 0, rank_after = 0;  ///< mean rank correlations
  int64_t logged = 0;                      ///< trials in the context
  int64_t timed = 0;                       ///< schedules that were timed, and fitted to
  int problems = 0;
};

/// Fits the weights of the estimate to what is logged, from the default ones, and keeps them in the
/// cache. Too few trials are an error that says how many there are.
Result<Fitting> fit_to_log(const LogContext& log);

/// The weights that a search begins with, and keeps to its end: those in the cache. They are fitted
/// now, to a part of the log, where there are none. So they are where the log is four times as long
/// as when they were fitted. The default ones where the log does not suffice.
schedules::Terms weights_for_search(const LogContext& log);

}  // namespace hone::runtime
