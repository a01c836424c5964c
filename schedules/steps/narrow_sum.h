// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>

#include "jit/ir/program.h"

namespace hone::schedules {

/// How many values of the stage a narrower `type` adds up exactly, by what types and constants say
/// of them. 0 for sums of products, which have instructions of their own, and where a value is made
/// of wider tensors.
int64_t terms_in(DType type, const ir::Program& program, const ir::Stage& stage);

/// The narrowest type whose sums do as well, though they wrap around: readers go by no more bytes
/// than it has. There is none where that is the stage's own, where values are computed in 64 bits
/// all the same, or for sums of products.
std::optional<DType> wrapping_sum(const ir::Program& program, const ir::Stage& stage);

/// That type, or the narrowest that holds all that a result of the stage adds up. There is none
/// where that is the stage's own, or nobody knows how many terms there are.
std::optional<DType> narrow_sum(const ir::Program& program, const ir::Stage& stage);

/// The types that may be: the narrowest first.
inline constexpr DType kNarrowSums[] = {DType::kI8, DType::kI16};

/// Those of sums that may wrap around.
inline constexpr DType kWrappingSums[] = {DType::kI8, DType::kI16, DType::kI32};

/// Has `stage` and the tensor that it writes take that type.
void sum_narrow(const ir::Program& program, ir::Stage& stage, ir::Buffer& output);

}  // namespace hone::schedules
