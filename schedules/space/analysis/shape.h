// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "schedules/space/plan.h"

namespace hone::schedules {

/// The index variable along which the stage's output is contiguous; where there is none, one along
/// which a load is; "" when nothing is.
std::string contiguous_var(const Plan& plan, const std::string& stage);

/// The variable along which neighbours lie nearest in all that a stage reads and writes, in bytes
/// that a step moves, up to a line. "": no loop has steps.
std::string nearest_var(const Plan& plan, const std::string& stage);

/// The widest type that the stage computes with: it sets the lanes of its vectors.
DType widest_type(const ir::Program& program, const ir::Stage& stage);

/// Lanes that a loop of `extent` leaves idle, as a part of those at work.
double idle_lanes(int64_t extent, int64_t lanes);

/// True when some stage is computed in a loop of this one.
bool hosts_stages(const Plan& plan, const std::string& stage);

/// True of a stage that is best computed once, when constants are bound. They alone decide it, and
/// its result fits a near cache, is no larger than they are, or is little larger and takes many
/// operations.
bool best_at_bind(const Plan& plan, const ir::Stage& stage);

/// Moves a loop innermost; false where that does not apply.
bool move_innermost(Plan& plan, const std::string& stage, const std::string& loop);

/// The loops of a stage over reduced indices. Where lines would be read again and again from far,
/// those with steps beyond a line in each large tensor go outside, the longest first. `together`:
/// steps along variables that each iteration takes.
std::vector<std::string> reduction_by_memory(const Plan& plan, const std::string& stage,
                                             std::map<std::string, int64_t> together);

/// Puts them in that order, innermost, where they have another.
bool reduce_by_memory(Plan& plan, const std::string& stage,
                      const std::map<std::string, int64_t>& together);

/// Puts the loops of a stage in the order named; those left out keep their order in front.
bool order_loops(Plan& plan, const std::string& stage, const std::vector<std::string>& inner);

/// Puts the loops of a root stage in the order of its result in memory, `inner` ones last. A stage
/// whose loops host others keeps its order in front.
bool order_by_memory(Plan& plan, const std::string& stage, const std::vector<std::string>& inner);

/// Brings a longer loop outermost where the outermost of a root stage is too short for the
/// target's threads.
void spread(Plan& plan, const std::string& stage);

/// The name of a knob of a stage: `base` with the stage's name behind it, a letter first.
std::string knob_name(const std::string& base, const std::string& stage);

/// True where `outer` goes on where `inner`, of `extent` values, ends, or neither moves the access.
bool runs_on(const Access& a, const std::string& outer, const std::string& inner, int64_t extent);

}  // namespace hone::schedules
