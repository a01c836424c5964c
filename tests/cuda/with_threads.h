// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "jit/ir/program.h"
#include "jit/ir/target.h"
#include "schedules/schedule.h"
#include "schedules/search/sampling.h"

namespace hone::tests {

/// `schedule` with loops bound to blocks and threads at random, as far as a kernel for `target`
/// comes of it.
schedules::Schedule with_threads(const ir::Program& program, const ir::Target& target,
                                 schedules::Schedule schedule, schedules::Random& random);

}  // namespace hone::tests
