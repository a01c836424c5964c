// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>

#include "jit/ir/program.h"

namespace hone::runtime {

/// The program with values that indices alone tell written where they are read, and folded. These
/// are indices of one value at the given dims, indices along dims of stride 0, and stages that read
/// nothing.
ir::Program with_settled_indices(ir::Program program, std::span<const int64_t> dims);

}  // namespace hone::runtime
