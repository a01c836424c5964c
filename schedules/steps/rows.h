// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "schedules/step.h"

namespace hone::schedules {

// One row a file of this folder; steps() lists them.
extern const StepRow kSplit;
extern const StepRow kReorder;
extern const StepRow kFuse;
extern const StepRow kCollapse;
extern const StepRow kUnroll;
extern const StepRow kVectorize;
extern const StepRow kScatter;
extern const StepRow kGroup;
extern const StepRow kParallel;
extern const StepRow kPartition;
extern const StepRow kCompute;
extern const StepRow kInline;
extern const StepRow kPrecompute;
extern const StepRow kCacheWrite;
extern const StepRow kStage;
extern const StepRow kRfactor;
extern const StepRow kSplitReduction;
extern const StepRow kFactor;
extern const StepRow kSeparate;
extern const StepRow kWinograd;
extern const StepRow kExpand;
extern const StepRow kNarrow;
extern const StepRow kPredicate;
extern const StepRow kReciprocal;
extern const StepRow kScan;
extern const StepRow kRunning;
extern const StepRow kOnline;
extern const StepRow kPrefetch;
extern const StepRow kStream;
extern const StepRow kTensorize;
extern const StepRow kBind;
extern const StepRow kPipeline;
extern const StepRow kWarpLanes;
extern const StepRow kTma;
extern const StepRow kSpecialize;
extern const StepRow kCluster;

}  // namespace hone::schedules
