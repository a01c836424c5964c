// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "bench/speed/rows.h"
#include "runtime/measure/spread.h"

namespace hone::bench {

/// What one contender made of a row.
struct RowEntry {
  std::string name;     ///< `default`, `tuned`, or the peer's
  std::string problem;  ///< that it solved
  std::string kernel;   ///< a schedule, or what the peer says that it chose
  std::string from;     ///< where a tuned schedule comes from
  runtime::Spread time_us;
  double of_limit = 0;  ///< share of the bound, may exceed 1; 0: unknown
  double gflops = 0, gbps = 0;
  double error = 0;      ///< by the measure of `tolerance`
  double tolerance = 0;  ///< what is accepted; 0: the same bits
  std::string wrong;     ///< why the results are; empty: they are right
};

/// A row that was measured.
struct RowResult {
  SpeedCase row;
  std::string failure;  ///< why there is none; empty: there is one
  double limit_us = 0;
  std::string bound;  ///< flops or bytes
  int rounds = 0, noisy = 0;
  int sets = 1;  ///< of operands
  std::vector<RowEntry> entries;

  const RowEntry* find(std::string_view name) const;
  /// What a user of hone gets: tuned, else by default; null: nothing.
  const RowEntry* own() const;
};

/// Whether something was reached; nobody knows where it was not measured.
enum class Met { kUnknown, kNo, kYes };

/// What the rows of a group come to.
struct GroupResult {
  SpeedGroup group;
  std::vector<RowResult> rows;

  /// Geometric mean of the shares of those rows that a contender has a share of; 0: none.
  /// `rows`, if given, takes how many.
  double mean(std::string_view name, int* rows = nullptr) const;
  /// The same of what a user of hone gets.
  double own_mean() const;
  /// Microseconds of `name` (of hone's own where it is empty) over the rows that `beside` has too.
  double total(std::string_view name, std::string_view beside) const;
  Met mean_met() const;
  Met total_met() const;
};

/// Whether a row is what its goal says; `machine_gflops` is what this machine multiplies and adds.
Met goal_met(const RowResult& row, double machine_gflops);

/// The goal of a row as a share of the bound; 0: it is no such thing.
double goal_share(const RowResult& row, double machine_gflops);

/// Names of all contenders in order of appearance: `default`, `tuned`, peers.
std::vector<std::string> contenders_of(const std::vector<GroupResult>& groups);

}  // namespace hone::bench
