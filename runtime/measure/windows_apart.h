// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>

#include "jit/ir/program.h"

namespace hone::runtime {

/// The program with reductions over windows taken apart: one index after the other, where that
/// combines fewer terms at the given dims.
ir::Program with_windows_apart(ir::Program program, std::span<const int64_t> dims);

}  // namespace hone::runtime
