// SPDX-License-Identifier: Apache-2.0
#include "schedules/steps/rows.h"

namespace hone::schedules {
namespace {

constexpr const StepRow* kSteps[] = {
    &kSplit,      &kReorder,  &kFuse,       &kCollapse,       &kUnroll,     &kVectorize,
    &kScatter,    &kParallel, &kPartition,  &kCompute,        &kInline,     &kPrecompute,
    &kCacheWrite, &kStage,    &kRfactor,    &kSplitReduction, &kFactor,     &kSeparate,
    &kRunning,    &kPrefetch, &kStream,     &kTensorize,      &kBind,       &kPipeline,
    &kWarpLanes,  &kTma,      &kSpecialize, &kCluster,        &kOnline,     &kExpand,
    &kNarrow,     &kGroup,    &kScan,       &kPredicate,      &kReciprocal, &kWinograd,
};

}  // namespace

std::span<const StepRow* const> steps() { return kSteps; }

const StepRow* step_named(std::string_view verb) {
  for (const StepRow* row : kSteps) {
    if (verb == row->verb || (row->alias && verb == row->alias)) return row;
  }
  return nullptr;
}

}  // namespace hone::schedules
