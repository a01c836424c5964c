// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "schedules/space/plan.h"

namespace hone::schedules {

/// Vectors of a row from which few lie across a border, for which loops are cut.
/// Tuned on: Zen 5 (AVX-512).
inline constexpr int64_t kManyVectors = 4;

/// True of a load that takes its vectors along `var` out of near elements. Where it may lie
/// outside, loops over results are cut for that; steps of the reduction are not.
bool is_shuffled(const Plan& plan, const ir::Stage& reduction, const Access& load,
                 const std::string& var);

/// True of a load of elements a few apart, which are read as whole vectors and shuffled.
bool is_spread(const Plan& plan, const Access& load, const std::string& var);

/// True of a load whose lanes lie apart and may be absent one by one. Where lanes know their
/// columns they know that, too.
bool is_tested_apart(const Access& load, const std::string& var);

/// True of a load that stays where it is along a few steps of the reduction, as bytes do that hold
/// several elements. The steps are unrolled, and each takes its part of what was loaded.
bool is_kept(const ir::Stage& reduction, const StageFacts& facts, const Access& load);

/// True of a load that no step of the reduction moves: it is loaded once.
bool stays(const ir::Stage& reduction, const Access& load);

/// Vectors that unrolled steps of the reduction share: each takes another element out of structures
/// that lie one after the other along `columns`.
int64_t vectors_of_structures(const Plan& plan, const Access& load, const std::string& columns);

/// True where all steps of the reduction are the elements of one structure.
bool is_one_structure(const Plan& plan, const ir::Stage& reduction, const Access& load,
                      const std::string& columns);

}  // namespace hone::schedules
