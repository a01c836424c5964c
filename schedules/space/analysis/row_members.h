// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <vector>

#include "schedules/space/plan.h"

namespace hone::schedules {

/// Stages that can be computed inside a loop over some variables of a stage, with the variables of
/// theirs that follow them, in order.
using RowMembers = std::map<std::string, std::vector<std::string>>;

/// The longest prefix of the root's variables that one set of producers follows, and that set.
RowMembers row_members(const Plan& plan, const ir::Stage& root, std::vector<std::string>& prefix);

}  // namespace hone::schedules
