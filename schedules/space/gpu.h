// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "schedules/space/plan.h"

namespace hone::schedules {

/// Threads of a block, unless a rule knows better.
inline constexpr int64_t kBlockThreads = 256;

/// Fuses adjacent loops of a stage, outermost first, into one as far as that applies; those that
/// are left, outermost first.
std::vector<std::string> fuse_loops(Plan& plan, const std::string& stage,
                                    std::vector<std::string> loops);

/// Binds three loops at most to the axes of the grid, the last to x.
bool bind_blocks(Plan& plan, const std::string& stage, const std::vector<std::string>& loops);

/// Spreads `var` over threads along an axis: neighbours by neighbouring threads, the loop over what
/// exceeds them outside.
bool bind_threads(Plan& plan, const std::string& stage, const std::string& var, int64_t threads,
                  const std::string& axis);

/// Whether the program under construction lowers: what a rule added is legal with the rest as it
/// stands.
bool lowers(const Plan& plan);

/// A number of threads, whole warps, for a loop of that many iterations.
int64_t threads_for(int64_t extent);

}  // namespace hone::schedules
