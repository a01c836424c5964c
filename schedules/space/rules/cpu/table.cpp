// SPDX-License-Identifier: Apache-2.0
#include "schedules/space/rules/rule.h"

namespace hone::schedules {
namespace {

// What lies well as it is may become one index; so may what operands are copied for.
constexpr const Rule* kShaping[] = {
    &cpu::kWinograd, &cpu::kInline,    &cpu::kCopies,     &cpu::kGroup,    &cpu::kInPart,
    &cpu::kFactor,   &cpu::kExpand,    &cpu::kSeparate,   &cpu::kCarried,  &cpu::kPad,
    &cpu::kNarrow,   &cpu::kPredicate, &cpu::kReciprocal, &cpu::kCollapse, &cpu::kOperands,
    &cpu::kCollapse, &cpu::kRelayout,  &cpu::kBands,      &cpu::kRunning,  &cpu::kColumns,
    &cpu::kRows,     &cpu::kJoined};
constexpr const Rule* kStages[] = {
    &cpu::kRecurrence, &cpu::kScatter,        &cpu::kTile,      &cpu::kLanes,   &cpu::kInterleave,
    &cpu::kTranspose,  &cpu::kTransposeParts, &cpu::kShortRows, &cpu::kStencil, &cpu::kElementwise};
constexpr const Rule* kFinishing[] = {&cpu::kChoices, &cpu::kParallel, &cpu::kPartition,
                                      &cpu::kNear,    &cpu::kPrefetch, &cpu::kStream};

}  // namespace

std::span<const Rule* const> shaping_rules(const ir::Target& target) {
  if (target.is_cuda()) return gpu_shaping_rules();
  return kShaping;
}

std::span<const Rule* const> stage_rules(const ir::Target& target) {
  if (target.is_cuda()) return gpu_stage_rules();
  return kStages;
}

std::span<const Rule* const> finishing_rules(const ir::Target& target) {
  if (target.is_cuda()) return {};
  return kFinishing;
}

}  // namespace hone::schedules
