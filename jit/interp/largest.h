// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "jit/interp/reference_state.h"

namespace hone::jit {

/// The largest absolute value in the tensor that each of `factors` reads: infinity where an element
/// is infinite or NaN. NaN for what is not just read, and where not all elements are evaluated.
std::vector<double> largest_factors(const RefState& state, const std::vector<ir::Expr>& factors);

}  // namespace hone::jit
