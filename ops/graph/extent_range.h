// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <vector>

#include "jit/ir/integers.h"
#include "jit/ir/program.h"

namespace hone::ops {

/// No fewer values than an extent has, where `dims` says what dims there are. None where it names
/// others, or leaves 64 bits.
std::optional<ir::IntegerRange> range_of_extent(const ir::Expr& extent,
                                                const std::vector<ir::Dim>& dims);

/// `extent` with the value of each dim that has one alone, in its shortest form.
ir::Expr with_fixed_dims(const ir::Expr& extent, const std::vector<ir::Dim>& dims);

}  // namespace hone::ops
