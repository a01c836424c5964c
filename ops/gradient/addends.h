// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "ops/gradient/transpose.h"

namespace hone::ops {

/// The sum of what contributions add to an element of `target`. Equal terms become one with a
/// factor, and terms under a condition and its contrary one choice.
Term sum_of_addends(std::vector<Addend> addends, const Target& target);

}  // namespace hone::ops
