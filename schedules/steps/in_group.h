// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "jit/ir/program.h"

namespace hone::schedules {

/// A step has made the stage `made` of a part of `of`. If both are stages of one recurrence, `made`
/// is computed where `of` is, since one loop has to hold both.
void keep_in_group(ir::Program& program, const std::string& made, const std::string& of);

}  // namespace hone::schedules
