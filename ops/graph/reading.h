// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "ops/graph/graph.h"

namespace hone::ops {

/// Does an op make each element of its results from the same element of argument `name`, and read
/// no other of it? Tensors of fewer dims may be read in any way, and a dim of one element at 0.
bool goes_along(const Definition& op, const std::string& name);

/// Does an op read argument `name` at indices alone: each dim at an index of its own, or a dim of
/// one element at 0? The same goes for tensors made from the argument. So softmax does, and matmul;
/// a window does not.
bool reads_plainly(const Definition& op, const std::string& name);

/// Does each reduction of an op read some tensor whole, each element once? So softmax does; matmul
/// does not. Such an op moves about as many bytes as it computes.
bool is_light(const Definition& op);

/// The argument whose elements a node only moves: each result is one of them, told by indices or by
/// data. -1 where it computes something, or is no op by itself.
int moved_argument(const GraphNode& node);
/// The same of a node that data have no say in.
int moved_by_indices(const GraphNode& node);

/// Does the result of a node lie in memory as its argument does, element for element?
bool is_view(const Graph& graph, const GraphNode& node, const std::vector<ir::Dim>& dims);

}  // namespace hone::ops
