// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "jit/interp/reference_state.h"
#include "jit/ir/group.h"

namespace hone::jit {

/// Evaluates stages that read one another, step by step.
class GroupEval {
 public:
  GroupEval(RefState& state, const ir::Groups& groups, const ir::Group& group);

  /// Evaluates every element.
  void run_all();
  /// Evaluates the chains that element `p` of stage `stage` depends on, from their first elements.
  void run_element(size_t stage, int64_t p);

 private:
  void run(size_t depth);
  void fix(const std::string& var, int64_t value);
  void fix_none();

  RefState& state_;
  const ir::Group group_;
  ir::GroupOrder order_;
  bool under_way_ = false;  ///< some of its elements are being evaluated
};

}  // namespace hone::jit
