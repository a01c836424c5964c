// SPDX-License-Identifier: Apache-2.0
#include "schedules/space/rules/rule.h"

namespace hone::schedules {
namespace {

constexpr const Rule* kGpuShaping[] = {
    &cpu::kInline,   &cpu::kInPart,   &gpu::kRounded, &cpu::kFactor,         &gpu::kCollapse,
    &gpu::kOperands, &gpu::kCollapse, &gpu::kScan,    &gpu::kSplitReduction, &gpu::kCopies};
constexpr const Rule* kGpuStages[] = {&gpu::kRecurrence,     &gpu::kScatter,    &gpu::kOnline,
                                      &gpu::kWgmmaGemm,      &gpu::kMmaGemm,    &gpu::kSimtGemm,
                                      &gpu::kTiledReduction, &gpu::kRows,       &gpu::kColumns,
                                      &gpu::kTranspose,      &gpu::kElementwise};

}  // namespace

std::span<const Rule* const> gpu_shaping_rules() { return kGpuShaping; }

std::span<const Rule* const> gpu_stage_rules() { return kGpuStages; }

}  // namespace hone::schedules
