// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "schedules/space/analysis/facts.h"

namespace hone::schedules {

/// Steps of `var` in which remainders that loads are indexed by go through all their values, as
/// those of i%39 do in 39. Within blocks of so many, elements lie as they do in the tensor. 0 where
/// no load has any, where blocks would leave most of `lanes` idle, or are the whole.
int64_t period_along(const StageFacts& facts, const std::string& var, int lanes);

}  // namespace hone::schedules
