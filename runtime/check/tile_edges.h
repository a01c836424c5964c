// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "jit/ir/program.h"

namespace hone::runtime {

/// Per tensor that a schedule writes, and per dimension of it, the sizes of the tiles that the
/// schedule cuts it into. In the order of the program's buffers.
using TileEdges = std::vector<std::vector<std::vector<int64_t>>>;

/// The tiles of a scheduled program.
TileEdges tile_edges(const ir::Program& scheduled);

/// Row-major positions of a tensor of `shape` on both sides of the first and last edge of its
/// tiles. Edges are mixed over the dimensions. At most `count` positions, sorted, the same for the
/// same arguments.
std::vector<int64_t> edge_positions(std::span<const int64_t> shape,
                                    std::span<const std::vector<int64_t>> tiles, int count);

}  // namespace hone::runtime
