// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <vector>

#include "ops/graph/graph.h"

namespace hone::ops {

/// Nodes of a graph that one kernel computes, as a problem of the language.
struct Group {
  std::vector<int> nodes;  ///< in their order
  std::vector<int> reads;  ///< values, one for each tensor that the problem's op takes
  std::vector<int> makes;  ///< values, one for each of its outputs
  Problem problem;
};

/// The ops of groups, each parsed once: groups that differ in sizes alone are one op.
class GroupOps {
 public:
  /// Ops by name are those of `library`, which may be null and outlives this.
  explicit GroupOps(const Library* library) : library_(library) {}
  const Library* library() const { return library_; }
  /// The last op of a text, or why it is none.
  const Result<Op>& parse(const std::string& text);
  /// An op with bindings, see make_problem: kernels that several groups share are bound once.
  const Result<Problem>& bind(const Op& op, const std::string& bindings);

 private:
  const Library* library_;
  std::map<std::string, Result<Op>> by_text_;
  std::map<std::pair<std::shared_ptr<const Definition>, std::string>, Result<Problem>> problems_;
};

/// The problem of some nodes. What only they read stays inside, a weight is `const`. A node by
/// itself is its op where that says all; else the statements of the nodes are put together. Extents
/// become dims, so that nodes that differ in sizes alone are one op with other bindings.
///
/// `dims` says what the graph's dims are. Fails where the language does not
/// have the statements together, and where a dim lacks a range.
Result<Group> make_group(const Graph& graph, std::vector<int> nodes,
                         const std::vector<ir::Dim>& dims, GroupOps& ops);

/// The problem of a plain node by itself. `graph` has its values, and perhaps not the node.
Result<Problem> problem_of(const Graph& graph, const GraphNode& node,
                           const std::vector<ir::Dim>& dims, const Library* library);

}  // namespace hone::ops
