// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "schedules/space/plan.h"

namespace hone::schedules {

/// Puts chains of a recurrence that go on along memory into the lanes of vectors. `chains` are the
/// stage's independent variables, the nearest in memory last; `along` is the one variable along
/// which an element goes on from others. The stage goes on in a tensor of its own, chain beside
/// chain. Its inputs and results are transposed in registers. False, with no step added and
/// `plan` told why, where that does not apply.
bool transpose_chains(Plan& plan, const std::string& stage, const std::vector<std::string>& chains,
                      const std::string& along);

}  // namespace hone::schedules
