// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "ops/graph/graph.h"

namespace hone::ops {

/// A node as an op that says all: its types are no parameters. Where the node repeats its op over
/// more indices, so does this one.
struct WrittenNode {
  Op op;
  std::map<std::string, int> values;        ///< of the graph, by arguments and results; -1: unread
  std::map<std::string, Term> scalars;      ///< as the node gives them
  std::vector<Given> given;                 ///< integer parameters
  std::map<std::string, ir::Expr> numbers;  ///< dims and integer parameters, in the graph's dims
};

/// Fails where a scalar differs with the indices over which the op is repeated.
Result<WrittenNode> written_node(const Graph& graph, const GraphNode& node, const Library* library);

/// The op without some of its results, and without what only they need. None where nothing is left.
std::optional<Op> without_results(const Op& op, const std::set<std::string>& results);

}  // namespace hone::ops
