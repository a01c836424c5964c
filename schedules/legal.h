// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "jit/ir/program.h"
#include "jit/ir/reject.h"

namespace hone::schedules {

/// The first thing that is illegal once every step is done. Readers may not be outside the loop
/// that computes a stage, parallel loops and blocks not inside a loop, loops not inside a vector
/// loop. What a stage reads of itself is written before.
std::optional<ir::Reject> find_illegal(const ir::Program& program);

}  // namespace hone::schedules
