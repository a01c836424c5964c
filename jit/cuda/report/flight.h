// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "jit/ir/nest.h"

namespace hone::jit {

/// Bytes in flight: global memory that a thread of `launch` requests before it waits for any. A
/// stretch lies between two barriers. It has one iteration of a loop, but all of an unrolled one.
/// The longest stretch counts. Copies of a pipeline count for each iteration that it holds, and TMA
/// copies divided by the block's `threads`.
double bytes_in_flight(const ir::Nest& nest, const ir::Launch& launch, int64_t threads);

}  // namespace hone::jit
