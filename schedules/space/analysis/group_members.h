// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "jit/ir/group.h"
#include "schedules/space/plan.h"

namespace hone::schedules {

/// Stages that go on together step by step, by their names.
struct GroupMembers {
  std::string leader;
  std::vector<std::string> others;  ///< computed in its loops
  ir::GroupOrder order;

  /// False where the stage that was asked for leads no group.
  explicit operator bool() const { return !leader.empty(); }
};

/// The group that `stage` leads.
GroupMembers led_by(const Plan& plan, const std::string& stage);
/// Whether the stage's own loops keep an order: it leads a group, or reads itself and is in none.
/// Of a state kept around the loop that computes it, that loop keeps the order.
bool keeps_order(const Plan& plan, const std::string& stage);
/// Whether the stage is one of a group.
bool in_steps(const Plan& plan, const std::string& stage);
/// Keeps what the stages of a group leave for one another, in one step alone, in scratch at the
/// loops where they stand. What later steps or other stages read stays at the root.
bool keep_near(Plan& plan, const GroupMembers& group);

}  // namespace hone::schedules
