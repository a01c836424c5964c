// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "jit/ir/program.h"
#include "jit/ir/reject.h"

namespace hone::schedules {

/// The first thing that is illegal once every step is done: readers outside the loop in which a
/// stage is computed, a parallel loop that is not outermost, a block inside a loop, loops inside a
/// vector loop.
std::optional<ir::Reject> find_illegal(const ir::Program& program);

}  // namespace hone::schedules
