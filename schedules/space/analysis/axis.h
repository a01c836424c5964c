// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "schedules/space/plan.h"

namespace hone::schedules {

/// The axis along which a stage runs as vectors.
struct VectorAxis {
  std::string var;         ///< "" when nothing is worth a vector
  bool reduction = false;  ///< lanes are partial results, added up at the end
  std::string packed;      ///< tensor to lay out along `var` first, or ""
  double cost = 0;         ///< of one vector of points, in instructions about
};

/// The reduction loops around `var` that continue it in memory, the nearest first. Fused with it
/// they are one loop at the same stride.
std::vector<std::string> run_of(const ir::Stage& stage, const StageFacts& facts,
                                const std::string& var);

/// The cheapest axis for a reduction. `store` is how the result leaves (its consumer's store, by
/// the variables of the stage). With `may_pack`, a tensor read across lines may be laid out anew.
VectorAxis vector_axis(const Plan& plan, const std::string& stage, const Access& store,
                       bool may_pack);

/// True when the cheapest axis of a reduction is one that it reduces.
bool reduces_along_vector(const Plan& plan, const std::string& stage);

/// True when a copy of `access` for packing pays: it is bound once, or read often enough.
bool worth_packing(const Plan& plan, const std::string& stage, const Access& access);

}  // namespace hone::schedules
