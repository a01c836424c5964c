// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "schedules/schedule.h"

namespace hone::runtime {

/// The difference between two schedules in a few words: `C/n 32->64, +stage B, -unroll k`. Factors
/// come first, then steps that only one of them has. A changed order of loops is told last, as
/// `reorder C`.
std::string step_changes(const schedules::Schedule& from, const schedules::Schedule& to);

}  // namespace hone::runtime
