// SPDX-License-Identifier: Apache-2.0
#include "jit/interp/reference_group.h"

#include "jit/interp/reference_stage.h"

namespace hone::jit {

GroupEval::GroupEval(RefState& state, const ir::Groups& groups, const ir::Group& group)
    : state_(state), group_(group) {
  const auto order = groups.order(group);
  if (order) {
    order_ = *order;
  } else {
    order_.depth.assign(group.stages.size(), 0);  // what is read is found to be missing
  }
}

void GroupEval::run_all() {
  fix_none();
  under_way_ = true;
  run(0);
  under_way_ = false;
}

void GroupEval::run_element(size_t stage, int64_t p) {
  if (under_way_) return;  // what is read is there, or never will be
  fix_none();
  for (const std::string& chain : order_.chains) {
    if (const auto value = state_.stages[stage]->value_at(chain, p)) fix(chain, *value);
  }
  under_way_ = true;
  run(0);
  under_way_ = false;
}

/// The stages that stand in `depth` loops, then the loop inside.
void GroupEval::run(size_t depth) {
  for (size_t s = 0; s < group_.stages.size(); ++s) {
    if (order_.depth[s] == depth) state_.stages[group_.stages[s]]->run_fixed();
  }
  if (depth == order_.shared.size()) return;
  const auto& [var, backward] = order_.shared[depth];
  const auto [from, to] = state_.stages[group_.leader()]->range_of(var);
  for (int64_t x = from; x < to; ++x) {
    fix(var, backward ? to - 1 - (x - from) : x);
    run(depth + 1);
  }
  for (const size_t s : group_.stages) state_.stages[s]->fix(var, std::nullopt);
}

void GroupEval::fix(const std::string& var, int64_t value) {
  for (const size_t s : group_.stages) state_.stages[s]->fix(var, value);
}

void GroupEval::fix_none() {
  for (const size_t s : group_.stages) state_.stages[s]->fix_none();
}

}  // namespace hone::jit
