// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "bench/cuda/cases.h"
#include "include/hone/error.h"

namespace hone::bench {

/// One contender's time on one problem.
struct GpuRow {
  std::string problem, contender;
  double us = 0;          ///< of one solution; 0 where `error` says why there is none
  double bytes = 0;       ///< that the problem must move
  double operations = 0;  ///< that it must do
  std::string error;
};

/// What a run has found so far, in a file of a JSON object a line: a run that is stopped goes on
/// where it was.
class GpuResults {
 public:
  /// Reads what is in `path` of runs on `gpu`, or begins it anew.
  static Result<GpuResults> open(const std::string& path, const std::string& gpu, bool resume);

  bool done(const std::string& problem) const { return done_.contains(problem); }
  /// How often a problem was begun, in this run and those before.
  int begun(const std::string& problem) const;
  /// Says that a problem is begun: what is begun and not done has hung, or was cut off.
  void begin(const std::string& problem);
  void add(const GpuRow& row);
  void finish(const std::string& problem);
  /// Writes, past what this run knows, that a problem does not end: for a thread that watches.
  void give_up(const std::string& problem, const std::string& why) const;
  /// 10^9 bytes a second of a copy within the device; 0: not measured yet.
  double copy_gbps() const { return copy_gbps_; }
  void set_copy_gbps(double gbps);
  /// Rows of a problem, in the order of the run.
  std::vector<GpuRow> rows(const std::string& problem) const;
  const std::string& gpu() const { return gpu_; }

 private:
  void write(const std::string& line) const;
  void take(const std::string& line);

  std::string path_, gpu_;
  std::vector<GpuRow> rows_;
  std::set<std::string> done_;
  std::map<std::string, int> begun_;
  double copy_gbps_ = 0;
};

/// The share of what a problem is held against that hone reaches, 0 where something is missing.
double gpu_ratio(const GpuResults& results, const GpuGroup& group, const std::string& problem);

/// The whole table, with the geometric mean and the goal of each group.
std::string gpu_table(const GpuResults& results, const std::vector<GpuGroup>& groups);

}  // namespace hone::bench
