// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "schedules/schedule.h"

namespace hone::runtime {

/// What `to` does otherwise than `from`, in a few words: `C/n 32->64, +stage B, -unroll k`. Factors
/// first, then steps that one alone has; an order of loops alone is told last, as `reorder C`.
std::string step_changes(const schedules::Schedule& from, const schedules::Schedule& to);

}  // namespace hone::runtime
