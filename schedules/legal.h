// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "jit/ir/program.h"

namespace hone::schedules {

/// What a finished schedule may not have: where a stage stands, or how a loop is marked.
struct Illegal {
  std::string stage;
  std::string loop;  ///< empty: the stage's placement
  std::string reason;
};

/// The first thing that is illegal once every step is done: readers outside the loop in which a
/// stage is computed, a parallel loop that is not outermost, a block inside a loop, loops inside a
/// vector loop.
std::optional<Illegal> find_illegal(const ir::Program& program);

}  // namespace hone::schedules
