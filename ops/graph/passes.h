// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "ops/graph/graph.h"

namespace hone::ops {

/// The graph with those of its nodes for which `keeps` has true, in their order. Values that lose
/// their maker stay, for those who know them otherwise.
Graph with_nodes(Graph graph, const std::vector<bool>& keeps);

/// Nodes of the same op on the same values are one:
///   a = relu(x); b = relu(x); y = add(a, b)   to   a = relu(x); y = add(a, a)
Graph without_repeats(Graph graph);

/// What nothing reads is not computed:
///   a = relu(x); b = gelu(x); y = tanh(b)   to   b = gelu(x); y = tanh(b)
Graph without_unread(Graph graph);

}  // namespace hone::ops
