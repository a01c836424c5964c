// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "schedules/space/plan.h"

namespace hone::schedules {

/// Parts of a stage's value whose loads run along another variable than the store does.
struct TransposedParts {
  std::string stored;            ///< variable along which the result runs on in memory
  std::string read;              ///< the one along which the parts' loads do
  std::vector<ir::Expr> values;  ///< the parts, in the order of the value
  int64_t side = 0;              ///< of the squares that registers transpose
};

/// The parts to compute along the variable that makes the whole cheapest; none, and `plan` told
/// why, where the stage is cheapest along `stored`.
TransposedParts transposed_parts(Plan& plan, const std::string& stage, const std::string& stored);

/// Cuts the two loops into squares, inside the other loops of the stage. The first part of a square
/// is computed in registers and transposed there; others are transposed on their way to scratch.
/// False, with steps already added, where a step does not apply.
bool transpose_parts(Plan& plan, const std::string& stage, const TransposedParts& parts);

}  // namespace hone::schedules
