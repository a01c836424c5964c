// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "jit/ir/program.h"

namespace hone::schedules {

/// Some factors of a sum of products before they meet the others: their product, summed over the
/// indices that nothing else of the stage has.
struct PartialSum {
  std::vector<ir::IndexVar> vars;    ///< indices of the result
  std::vector<ir::IndexVar> summed;  ///< none: a product alone
  ir::Expr where;                    ///< where it is needed; null: everywhere
  std::string wrong;  ///< why these factors cannot be taken out; empty where they can
};

/// The partial sum of the factors at `positions` of the product that `stage` sums.
PartialSum partial_sum(const ir::Program& program, const ir::Stage& stage,
                       const std::vector<size_t>& positions);

/// True where `v` has a value, whatever the dims and the other variables of `stage`.
bool surely_has_values(const ir::Program& program, const ir::Stage& stage, const ir::IndexVar& v);

}  // namespace hone::schedules
