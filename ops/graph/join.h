// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <vector>

#include "ops/graph/graph.h"

namespace hone::ops {

/// A node whose result is its arguments, one behind the other along a dim.
struct Join {
  size_t dim = 0;
  std::vector<int> parts;  ///< values, in their order along the dim
};

/// The join that a node is, whatever its op is called: `y[i,j] = select(j < N, a[i,j], b[i,j-N])`.
/// Nothing where each argument does not stand there once and whole.
std::optional<Join> join_of(const Graph& graph, const GraphNode& node,
                            const std::vector<ir::Dim>& dims);

}  // namespace hone::ops
