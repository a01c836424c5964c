// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "ops/graph/graph.h"

namespace hone::ops {

/// How a graph runs: nodes that share a kernel, in an order in which kernels can run. In what order
/// its values lie in memory stands at the values.
using GraphGroups = std::vector<std::vector<int>>;

/// The schedule of a graph as text: `a+b c | a@0,2,3,1`. A node is named by the first result of it
/// that is read, nodes of one kernel stand together. Behind the bar are values with the order of
/// their dims in memory, the outermost first.
std::string print_plan(const Graph& graph, const GraphGroups& groups);

/// The groups of such a text; sets the orders of the graph's values. Each node is in one group, and
/// groups read what earlier ones make. Fails where the text is of another graph, or asks for an
/// order of what callers see, or of what shares memory.
Result<GraphGroups> parse_plan(std::string_view text, const std::vector<ir::Dim>& dims,
                               Graph& graph);

}  // namespace hone::ops
