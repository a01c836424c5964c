// SPDX-License-Identifier: Apache-2.0
#include "schedules/space/rules.h"

namespace hone::schedules {
namespace {

constexpr const Rule* kGpuShaping[] = {&kInlineCheap, &kGpuParts};
constexpr const Rule* kGpuStages[] = {&kGpuWide, &kGpuTensor,  &kGpuProducts, &kGpuTile,
                                      &kGpuRows, &kGpuColumns, &kGpuTurn,     &kGpuMap};

}  // namespace

std::span<const Rule* const> gpu_shaping_rules() { return kGpuShaping; }

std::span<const Rule* const> gpu_stage_rules() { return kGpuStages; }

}  // namespace hone::schedules
