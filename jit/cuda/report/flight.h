// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "jit/ir/nest.h"

namespace hone::jit {

/// Bytes of global memory that a thread of `launch` asks for before it waits for any: of what
/// stands between two barriers, one iteration of a loop, but all those of loops that are unrolled;
/// the most that any such stretch has. Copies of a pipeline count for each iteration that it holds,
/// those of TMA as the block's `threads` share them.
double bytes_in_flight(const ir::Nest& nest, const ir::Launch& launch, int64_t threads);

}  // namespace hone::jit
