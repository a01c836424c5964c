// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>

#include "schedules/space/plan.h"

namespace hone::schedules {

/// One rule: it looks for a structure in the program and adds steps.
struct Rule {
  const char* name;
  const char* doc;
  /// Adds steps for `stage`, and perhaps others; false where the rule does not concern it.
  bool (*apply)(Plan& plan, const std::string& stage);
  /// Producers come before consumers, which see the steps of their producers.
  bool forwards = false;
  /// It keeps the order of stages that read themselves, and of terms that tell where they go; the
  /// others leave such stages alone.
  bool ordered = false;
};

// One row a file, of the same name; the tables list them in the order in which they are tried.
namespace cpu {
extern const Rule kInline;
extern const Rule kInPart;
extern const Rule kFactor;
extern const Rule kSeparate;
extern const Rule kWinograd;
extern const Rule kExpand;
extern const Rule kNarrow;
extern const Rule kPredicate;
extern const Rule kReciprocal;
extern const Rule kPad;
extern const Rule kOperands;
extern const Rule kCollapse;
extern const Rule kCopies;
extern const Rule kGroup;
extern const Rule kRelayout;
extern const Rule kCarried;
extern const Rule kRunning;
extern const Rule kColumns;
extern const Rule kRows;
extern const Rule kJoined;
extern const Rule kBands;
extern const Rule kRecurrence;
extern const Rule kScatter;
extern const Rule kInterleave;
extern const Rule kShortRows;
extern const Rule kStencil;
extern const Rule kTile;
extern const Rule kLanes;
extern const Rule kTranspose;
extern const Rule kTransposeParts;
extern const Rule kElementwise;
extern const Rule kVectors;
extern const Rule kChoices;
extern const Rule kParallel;
extern const Rule kPartition;
extern const Rule kNear;
extern const Rule kPrefetch;
extern const Rule kStream;
}  // namespace cpu
namespace gpu {
extern const Rule kCollapse;
extern const Rule kCopies;
extern const Rule kOperands;
extern const Rule kWgmmaGemm;
extern const Rule kMmaGemm;
extern const Rule kSimtGemm;
extern const Rule kTiledReduction;
extern const Rule kRounded;
extern const Rule kOnline;
extern const Rule kSplitReduction;
extern const Rule kRecurrence;
extern const Rule kScan;
extern const Rule kScatter;
extern const Rule kRows;
extern const Rule kColumns;
extern const Rule kTranspose;
extern const Rule kElementwise;
}  // namespace gpu

/// The rules for a GPU; none in a build without CUDA.
std::span<const Rule* const> gpu_shaping_rules();
std::span<const Rule* const> gpu_stage_rules();

/// Rules that reshape the program, applied to each stage before the others.
std::span<const Rule* const> shaping_rules(const ir::Target& target);
/// Rules that schedule one stage: the first that concerns it does; then every finishing rule.
std::span<const Rule* const> stage_rules(const ir::Target& target);
/// Rules applied to each stage at the end.
std::span<const Rule* const> finishing_rules(const ir::Target& target);

}  // namespace hone::schedules
