// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "schedules/space/plan.h"

namespace hone::schedules {

/// A recurrence along two indices, single elements at a time.
struct Fronts {
  std::string stage;
  std::vector<std::string> members;  ///< stages computed in each step of its loops
  std::vector<std::string> outer;    ///< loops around both indices
  std::string rows, along;           ///< the variables: rows are not neighbours in memory
};

/// Runs several rows side by side, each element after the one of the row before. The next elements
/// of the first rows do not wait for those of the last rows. So a core has a front of elements
/// under way. False, with no step added, where that does not apply.
bool run_fronts(Plan& plan, const Fronts& fronts);

}  // namespace hone::schedules
