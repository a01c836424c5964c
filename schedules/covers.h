// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "jit/ir/program.h"

namespace hone::schedules {

/// Why the loops that compute `stage` may leave out elements that are kept further out. Of a tensor
/// of the whole call also why they may compute elements again. Empty when they do neither.
std::string gaps(const ir::Program& program, const ir::Stage& stage);

/// Whether an index has a value at any dims of the call, whatever the data.
bool has_values(const ir::Program& program, const ir::IndexVar& v);

}  // namespace hone::schedules
