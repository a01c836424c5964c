// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "bench/models/results.h"

namespace hone::bench {

/// What the suite of models runs on, and who is beside.
struct ModelsMachine {
  std::string target;
  int threads = 1;
  std::vector<std::pair<std::string, std::string>>
      peers;  ///< names, and what they say of themselves
};

/// Prints what was found as it comes: a table, or a JSON object a line.
class ModelsReport {
 public:
  ModelsReport(ModelsMachine machine, bool json) : machine_(std::move(machine)), json_(json) {}

  void begin() const;
  void row(const ModelRow& row) const;
  /// The means beside each peer.
  void end(const std::vector<ModelRow>& rows) const;

 private:
  ModelsMachine machine_;
  bool json_;
};

}  // namespace hone::bench
