// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "jit/ir/instructions.h"
#include "schedules/space/plan.h"

namespace hone::schedules {

/// How an instruction would do a stage's products.
struct Dots {
  const ir::Instruction* row = nullptr;  ///< null: none does
  std::string columns;                   ///< the index variable along the lanes
  std::string grouped;                   ///< the reduced variable that is cut into groups
  std::vector<std::string> packed;       ///< tensors to lay out in panels of groups
  std::vector<std::string> regrouped;    ///< tensors whose groups do not lie together
  explicit operator bool() const { return row != nullptr; }
};

/// The cheapest way to compute a stage's products by an instruction of the target. `store` is how
/// the result is stored, by the variables of the stage.
Dots dots_for(const Plan& plan, const std::string& stage, const Access& store);

}  // namespace hone::schedules
