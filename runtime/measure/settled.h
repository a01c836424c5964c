// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "jit/ir/program.h"

namespace hone::runtime {

/// The value of an element of a temporary, as each reader may compute it for itself. Null where the
/// stage is no plain one, or long.
ir::Expr value_for_reader(const ir::Program& program, const ir::Stage& stage,
                          const std::vector<ir::Expr>& indices);

/// The program with values that indices alone tell written where they are read, and folded. These
/// are indices of one value at the given dims, indices along dims of stride 0, and stages that read
/// nothing.
ir::Program with_settled_indices(ir::Program program, std::span<const int64_t> dims);

}  // namespace hone::runtime
