// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "schedules/space/plan.h"

namespace hone::schedules {

/// Results along an index that are computed side by side.
struct TileSide {
  std::string var;
  int64_t results = 1;
};

/// Results of a reduction along vectors, which read each vector of an operand once for all.
struct ResultsTile {
  std::vector<TileSide> sides;  ///< two at most; none where nothing would be read less often
  double part = 1;              ///< of the cycles that results one by one take
};

ResultsTile results_tile(const Plan& plan, const std::string& stage);

/// Up to `results` along the index that the fewest operands move along, so that additions of one
/// need not wait for another's. None where each operand moves along every index.
std::vector<TileSide> side_by_side(const Plan& plan, const std::string& stage, int64_t results);

}  // namespace hone::schedules
