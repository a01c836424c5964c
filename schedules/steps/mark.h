// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "schedules/step.h"

namespace hone::schedules {

/// Sets the mark of the loops named; a loop takes one mark.
Applied mark_loops(ir::Program program, const std::vector<std::string>& names, ir::Mark mark);

}  // namespace hone::schedules
