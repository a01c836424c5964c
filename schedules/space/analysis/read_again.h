// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "schedules/space/plan.h"

namespace hone::schedules {

/// Iterations along one variable of a stage.
struct Iterations {
  std::string var;
  int64_t count = 1;
};

/// What iterations compute: stages, each with its own names of the variables.
using IteratedStages = std::map<std::string, std::vector<Iterations>>;

/// True where iterations read more again than they save, which is that results go to a far cache
/// and back. Read again is a tensor that some of the variables do not move. That counts where no
/// near cache holds it from one iteration to the next.
bool read_again_too_much(const Plan& plan, const IteratedStages& stages);

}  // namespace hone::schedules
