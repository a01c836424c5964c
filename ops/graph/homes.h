// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "ops/graph/graph.h"
#include "ops/graph/plan.h"

namespace hone::ops {

/// In whose memory a value lies.
struct Home {
  int of = -1;  ///< itself, or another value, which has its own memory
  ir::Expr at;  ///< the element of that memory where it begins, over dims of the graph; null: 0
};

/// Where values of a graph lie, and what that leaves to do.
struct Homes {
  std::vector<Home> values;     ///< per value
  std::vector<bool> in_memory;  ///< per group: its result lies in memory before it runs: no kernel
};

/// Finds nodes that have nothing to do, among those that are groups by themselves. The result of a
/// view lies where its argument does, or the other way round. Arguments of a join are made in its
/// result's memory, and get `strides` there.
///
/// Of what callers give, one tensor alone can lie in a memory. A kernel that would write rows
/// between rows that it reads keeps a join apart. `joins` says whether arguments of joins may be
/// moved at all.
Homes find_homes(Graph& graph, const GraphGroups& groups, const std::vector<ir::Dim>& dims,
                 bool joins);

}  // namespace hone::ops
