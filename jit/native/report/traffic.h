// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "jit/ir/nest.h"

namespace hone::jit {

/// Bytes of cache lines that the launches of a call move into a cache of `capacity` bytes, each
/// line once per stay. The cache is taken to be fully associative. It keeps what is used again
/// where all that one iteration touches fits. Where the whole call fits, nothing moves: operands
/// are hot. By estimate: boxes stand for what accesses touch.
double traffic(const ir::Nest& nest, std::span<const int64_t> dims, double capacity);

/// The same for several capacities, which ascend, in less time than one by one.
std::vector<double> traffic(const ir::Nest& nest, std::span<const int64_t> dims,
                            std::span<const double> capacities);

/// Bytes of lines that all launches of a call touch.
double footprint(const ir::Nest& nest, std::span<const int64_t> dims);

}  // namespace hone::jit
