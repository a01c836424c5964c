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

/// The first thing that is illegal once every step is done. Readers may not be outside the loop
/// that computes a stage, parallel loops and blocks not inside a loop, loops not inside a vector
/// loop.
std::optional<Illegal> find_illegal(const ir::Program& program);

}  // namespace hone::schedules
