// SPDX-License-Identifier: Apache-2.0
// Values and conditions that the step `online` is made of.
#pragma once

#include <string>

#include "jit/ir/program.h"

namespace hone::schedules {

/// The conjunction; either may be null.
ir::Expr both(const ir::Expr& a, const ir::Expr& b);

/// `by / div % mod`.
ir::Expr index_of(const ir::Expr& by, int64_t div, int64_t mod);

/// `value`, inside its conversions, where `condition` holds, else `otherwise` (a number).
ir::Expr only_where(const ir::Expr& condition, const ir::Expr& value, double otherwise);

/// exp(x) as exp2 of a multiple, where x is a difference in f32: it errs by as much already.
ir::Expr by_powers_of_two(const ir::Expr& e);

/// True of conditions under which the first terms count, up to some number of them.
bool bounds_above(const ir::Expr& where, const std::string& var);

/// Whether the variable has a value, whatever the dims of the call.
bool has_terms(const ir::Program& p, const ir::IndexVar& v);

}  // namespace hone::schedules
