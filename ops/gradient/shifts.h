// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "ops/gradient/equations.h"

namespace hone::ops {

/// Is no float output another, whatever were added to the values that equation `name` defines? So
/// it is of the greatest of a row that softmax subtracts: its gradient is zero.
bool shift_changes_nothing(const Equations& equations, const std::string& name);

}  // namespace hone::ops
