// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "jit/ir/program.h"
#include "jit/ir/reject.h"

namespace hone::ir {

/// An index of a reduction's result that its terms tell: of `where v == at`, each term goes to one
/// value of v. `Y[ids[n],d] += V[n,d]` is the stage
///   Y[v,d] = sum[n](V[n,d]) where v == ids[n]
/// Its loops may run as they stand, and each element looks at all terms. Or the loop of v is marked
/// kScatter: it runs where results begin, and each term then goes to the one element.
struct ScatteredVar {
  std::string var;
  Expr at;  ///< of other variables
};

/// The indices of the stage that its terms tell.
std::vector<ScatteredVar> scattered_vars(const Stage& stage);
/// Where terms go along that index; null where they do not tell.
Expr scattered_to(const Stage& stage, const std::string& var);
/// The stage's `where` but for what tells where terms go; null: nothing is left.
Expr where_of_terms(const Stage& stage);
/// Whether the loop of that index is marked kScatter.
bool runs_scattered(const Stage& stage, const std::string& var);

/// Why a stage would take terms of one element in another order than it may. Nothing where none
/// does. Loops marked kScatter want them one after the other, and kLast in the order of indices.
std::optional<Reject> broken_scatter(const Program& program);

}  // namespace hone::ir
