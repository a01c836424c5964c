// SPDX-License-Identifier: Apache-2.0
// Stands in for table.cpp and the rules that it lists in a build without CUDA.
#include "schedules/space/rules/rule.h"

namespace hone::schedules {

std::span<const Rule* const> gpu_shaping_rules() { return {}; }

std::span<const Rule* const> gpu_stage_rules() { return {}; }

}  // namespace hone::schedules
