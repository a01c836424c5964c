// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "ops/graph/graph.h"

namespace hone::ops {

/// The nodes of a graph in groups that share an op each, in an order in which they can run.
///
/// A node that makes each element from the same element of a value joins the value's maker, where
/// all readers do. Reductions that take each element once join as well, unless the maker is a
/// contraction. What only moves elements joins its reader.
///
/// `dims` says what the graph's dims are.
std::vector<std::vector<int>> fused_groups(const Graph& graph, const std::vector<ir::Dim>& dims);

/// Each node by itself.
std::vector<std::vector<int>> single_groups(const Graph& graph);

}  // namespace hone::ops
