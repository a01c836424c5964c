// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "ops/graph/graph.h"

namespace hone::ops {

/// Values that windows slide over, in sets that want one order in memory. A group that reads one
/// value of a rank and makes another has both in one set. Callers see none of them, and none
/// shares memory with another.
std::vector<std::vector<int>> image_sets(const Graph& graph,
                                         const std::vector<std::vector<int>>& groups,
                                         const std::vector<ir::Dim>& dims);

/// Per value: whether its memory may have any order. So it is of what nodes make, but for callers
/// and for packed types. It is not where a node only looks at the same memory, and not for
/// functions of the host.
std::vector<bool> reorderable(const Graph& graph, const std::vector<ir::Dim>& dims);

/// The order of dims in which the second one is innermost, as in images whose channels lie
/// together: 0, 2, 3, 1.
std::vector<int> channels_last(size_t rank);

/// Has values with channels last in memory, or as their dims stand.
void set_orders(Graph& graph, const std::vector<int>& values, bool last);

/// `W@K,N` or `W.stride=(1,64)`: the word by which a problem has a tensor as a value lies in
/// memory. Empty where that is dense and dims are as they stand.
std::string layout_word(const Argument& a, const GraphValue& value);

}  // namespace hone::ops
