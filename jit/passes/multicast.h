// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "jit/ir/nest.h"

namespace hone::jit {

/// TMA multicast for blocks that run in clusters of n. A TMA copy of a specialized pipe that is the
/// same for all blocks of a cluster is cut in n parts. Each block copies its own part to all. The
/// blocks must fill the pipe equally often, and no coordinate may tell blocks apart.
///   block b in 0..E by n: for k: fill at k: tma As[0] = A[k, 64 elements from 0]
///     =>  block b in 0..E by n: for k: fill at k: tma As[b%n*64/n] = A[k, 64/n from b%n*64/n],
///         in all n blocks
/// Refuses clusters that nothing is copied for.
ir::Nest multicast(ir::Nest nest);

}  // namespace hone::jit
