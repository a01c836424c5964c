// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "schedules/step.h"

namespace hone::schedules {

/// Sets the mark of the loops that the step's param `loops` names; a loop takes one mark.
Applied mark_loops(ir::Program program, const Step& step, ir::Mark mark);

}  // namespace hone::schedules
