// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <set>
#include <string>

#include "schedules/space/analysis/facts.h"

namespace hone::schedules {

/// Steps of `var` in which remainders that loads are indexed by go through all their values, as
/// those of i%39 do in 39. Within such blocks, elements lie as they do in the tensor. 0 where no
/// load has any, where blocks would leave most of `lanes` idle, or are the whole.
int64_t period_along(const StageFacts& facts, const std::string& var, int lanes);

/// Steps of `var` after which a quotient or remainder is as at the first, up to a common sum. That
/// is 8 of (3*i + 1)/8; 0 where data move it, or variables other than `unrolled` ones.
int64_t repeats_after(const ir::Expr& e, const std::string& var,
                      const std::set<std::string>& unrolled = {});

/// Steps of `var` after which an index is as at the first, where remainders alone depend on it.
/// That is 2 of 2*q + (i + 1)%2; 1 where nothing does, 0 where anything else does.
int64_t remainders_repeat(const ir::Expr& index, const std::string& var);

/// Steps of `var` after which quotients and remainders in indices of loads lie as at the first.
/// Those of (3*i + 1)/8 do after 8. In such blocks lanes know what they read. 1 where no load has
/// any, or other variables move them.
int64_t steps_to_repeat(const StageFacts& facts, const std::string& var);

/// True of an access that a border clamps or reflects along `var`.
bool meets_border(const Access& access, const std::string& var);

}  // namespace hone::schedules
