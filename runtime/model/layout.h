// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "ops/graph/graph.h"
#include "runtime/model/drafts.h"

namespace hone::runtime {

/// The graph with the order of each value in memory in which its groups should take least time, by
/// the estimate of their untuned kernels:
///   `y = conv(x, w)` between others of its kind to one that reads and makes channels innermost.
/// Values that windows slide over have their dims as declared or channels last, all that stand
/// between groups together.
ops::Graph with_orders(ops::Graph graph, const std::vector<std::vector<int>>& groups,
                       const std::vector<ir::Dim>& dims, KernelDrafts& drafts);

}  // namespace hone::runtime
