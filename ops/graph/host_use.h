// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "ops/graph/graph.h"
#include "ops/host/host_function.h"

namespace hone::ops {

/// Does an expression name a dim?
bool names_dim(const ir::Expr& e, const std::string& dim);
/// Does a node take a dim for a number, or make a tensor with it?
bool names_dim(const Graph& graph, const GraphNode& node, const std::string& dim);

/// Per node: the nodes that tell dims which it names. They run before it.
std::vector<std::vector<int>> tellers(const Graph& graph);

/// The op that stands for a function: its arguments, and no statements.
Op host_op(const HostFunction& function, const std::vector<HostTensor>& reads,
           const HostResults& results);

/// The parameters of a use of a function. Fails where one is stated that is none, or is no number
/// in its range.
Result<std::vector<int64_t>> host_numbers(const HostFunction& function, const Statement& use);

/// What a use of a function makes. Fails where it takes other tensors, or another number of
/// results.
Result<HostResults> host_results(const HostFunction& function, const std::vector<HostTensor>& reads,
                                 const std::vector<int64_t>& numbers, size_t results);

/// The name that a statement gives the dim that data tell, by a range; empty: it gives none.
std::string stated_dim(const Statement& s, const HostResults& results);
/// The same of outputs that declare their shapes. `declared` has the value of such a name, or null.
std::string declared_dim(const Statement& s, const HostResults& results,
                         const std::function<const GraphValue*(const std::string&)>& declared);
/// States the ranges of what a function makes. False where others are stated.
bool state_ranges(Left& left, const std::vector<ir::Expr>& shape);
/// `n,2*m`.
std::string shape_text(const std::vector<ir::Expr>& shape);

}  // namespace hone::ops
