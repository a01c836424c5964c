// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "jit/ir/program.h"
#include "jit/ir/target.h"

namespace hone::schedules {

/// Up to `count` different schedules of a program, good and bad ones, for judging a model. They are
/// the analytic ones of several structures, then other values of their knobs in turns with
/// variations by steps. All apply and lower. They are a function of the arguments alone.
std::vector<std::string> variety(const ir::Program& program, const ir::Target& target, size_t count,
                                 uint64_t seed);

}  // namespace hone::schedules
