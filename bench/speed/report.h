// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "bench/speed/results.h"

namespace hone::bench {

/// What a run of the speed suite was made on.
struct SpeedMachine {
  std::string target;
  int threads = 1;
  double gflops = 0;                                       ///< f32 multiply-adds
  std::vector<std::pair<std::string, std::string>> peers;  ///< name, version and kernels
  std::vector<std::string> absent;                         ///< peers that this build has not
};

/// Tells of a run of the speed suite, as text or as one JSON object a line.
class SpeedReport {
 public:
  SpeedReport(SpeedMachine machine, bool json) : machine_(std::move(machine)), json_(json) {}

  const SpeedMachine& machine() const { return machine_; }
  void begin() const;
  void begin_group(const SpeedGroup& group) const;
  void row(const std::string& group, const RowResult& row) const;
  void end_group(const GroupResult& group) const;
  /// How many goals were met.
  void end(const std::vector<GroupResult>& groups) const;

 private:
  void row_json(const std::string& group, const RowResult& row) const;
  void row_text(const RowResult& row) const;
  void group_json(const GroupResult& group) const;
  void group_text(const GroupResult& group) const;

  SpeedMachine machine_;
  bool json_;
};

}  // namespace hone::bench
