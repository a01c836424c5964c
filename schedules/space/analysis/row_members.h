// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "schedules/space/plan.h"

namespace hone::schedules {

/// Stages that can be computed inside a loop over some variables of a stage, with the variables of
/// theirs that follow them, in order.
using RowMembers = std::map<std::string, std::vector<std::string>>;

/// Whether producers count whose results are kept: those of the call, and what later stages read.
enum class Kept : uint8_t { kNot, kToo };

/// They count for results of the call. Other stages may still move into a reader's loops.
Kept may_keep(const Plan& plan, const ir::Stage& root);

/// The longest prefix of the root's variables that one set of producers follows, and that set.
RowMembers row_members(const Plan& plan, const ir::Stage& root, std::vector<std::string>& prefix,
                       Kept kept);

/// The producers that follow one variable of a stage, each with its own variable for it.
/// `recurrences`: also those that read themselves.
std::map<std::string, std::string> row_followers(const Plan& plan, const std::string& root,
                                                 const std::string& var, Kept kept,
                                                 bool recurrences = false);

/// Computes the members in a loop of `root`. What others read besides is kept for them.
bool compute_members(Plan& plan, const RowMembers& members, const ir::Place& loop);

}  // namespace hone::schedules
