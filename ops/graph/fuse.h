// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "ops/graph/graph.h"

namespace hone::ops {

/// The nodes of a graph in groups that share an op each, in an order in which they can run. A node
/// that makes each element from the same element of a value joins the group that makes the value,
/// where nothing else reads it.
std::vector<std::vector<int>> fused_groups(const Graph& graph);

/// Each node by itself.
std::vector<std::vector<int>> single_groups(const Graph& graph);

/// Does an op make each element of its results from the same element of argument `name`, and read
/// no other of it? Tensors of fewer dims may be read in any way.
bool goes_along(const Definition& op, const std::string& name);

}  // namespace hone::ops
