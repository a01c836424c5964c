// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "jit/ir/nest.h"

namespace hone::jit {

/// Blocks that run in clusters of n: boxes of specialized pipes that are the same for all blocks of
/// a cluster are cut in n parts, of which each block copies its own to all. That is so where the
/// blocks fill the pipe equally often and no coordinate mentions which one a block is.
///   block b in 0..E by n: for k: fill at k: box As[0] = A[k, 64 elements from 0]
///     =>  block b in 0..E by n: for k: fill at k: box As[b%n*64/n] = A[k, 64/n from b%n*64/n],
///         in all n blocks
/// Refuses clusters that nothing is copied for.
ir::Nest multicast(ir::Nest nest);

}  // namespace hone::jit
