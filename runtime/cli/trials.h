// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fstream>
#include <string>
#include <vector>

#include "runtime/cli/common.h"

namespace hone::runtime {

/// `cache trials`: what was tried for the problem of `words`, the best first. The exit code.
int list_trials(const Common& common, const std::vector<std::string>& words);

/// A file of the candidates of tuning runs as they are tried, one JSON object a line.
class TrialLog {
 public:
  /// Empties the file; an empty path: none is kept.
  Result<Done> open(const std::string& path);
  /// Hears of a candidate of `problem`.
  void add(const std::string& problem, const TuneTrial& trial);
  /// What became of it: whether all of it was written.
  Result<Done> close();

 private:
  std::string path_;
  std::ofstream file_;
};

}  // namespace hone::runtime
