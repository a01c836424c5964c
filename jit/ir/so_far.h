// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "jit/ir/program.h"

namespace hone::ir {

/// Whether `stage`, computed in the loop of a scatter's terms, is what the scatter holds of a
/// term's element before the term comes. Earlier terms of that element are all that it reduces:
///   K[n] = sum[m in 0..n](1) where ids[m] == ids[n], at the loop n of H[ids[n]] += 1
///   =>  for n: K[n] = H[ids[n]]; H[ids[n]] += 1
/// Where that does not hold, the stage runs its own loops.
bool is_so_far(const Program& program, const Stage& stage, const Stage& scatter);

/// `where` of such a stage: the term `earlier` goes to the element that the term `now` goes to.
Expr same_element(const Stage& scatter, const Expr& earlier, const Expr& now);

}  // namespace hone::ir
