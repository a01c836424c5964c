// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "jit/ir/nest.h"

namespace hone::tests {

/// The launches of a nest as functions `launch_0`, `launch_1`, ... of a C file. What one statement
/// means is written for each iteration of a vector loop in turn.
std::string print_c(const ir::Nest& nest);

}  // namespace hone::tests
