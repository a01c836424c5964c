// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <vector>

#include "ops/graph/plan.h"
#include "runtime/model/drafts.h"

namespace hone::runtime {

/// How often each kernel runs, by the text of its problem.
using KernelCounts = std::map<std::string, int>;

/// A graph, and the groups of its nodes that run.
struct PlannedGraph {
  /// Values of `graph` have their orders.
  PlannedGraph(ops::Graph graph, ops::GraphGroups groups, const std::vector<ir::Dim>& dims);

  ops::Graph graph;
  ops::GraphGroups groups;
  /// Per group: its result lies in memory before (ops::Homes), or a function of the host makes it.
  std::vector<bool> no_kernel;
};

/// A plan that differs in one thing from another one.
struct PlanChange {
  std::string what;  ///< `a+b apart behind node 1`, `a with b`, `a with channels last`
  PlannedGraph plan;
  KernelCounts gone, come;  ///< kernels of the other plan, and of this one in their place
};

/// The kernels of a plan.
KernelCounts kernels_of(const PlannedGraph& plan, KernelDrafts& drafts);

/// Plans near one: groups cut in two, pairs of groups joined, and the other order in memory for
/// images that want one. What is done to a group is done to all that have its kernel. What the
/// language does not have together is left out. The drafts of all kernels that go and come are
/// made.
std::vector<PlanChange> plan_changes(const PlannedGraph& plan, const std::vector<ir::Dim>& dims,
                                     KernelDrafts& drafts);

}  // namespace hone::runtime
