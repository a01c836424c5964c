// SPDX-License-Identifier: Apache-2.0
#include "runtime/model/layout.h"

#include <algorithm>
#include <cmath>

#include "ops/graph/orders.h"

namespace hone::runtime {
namespace {

/// The share of a set's time by whose kernels its order is chosen.
/// Chosen: the kernels left out are many and light (not measured).
constexpr double kShare = 0.7;

/// Chooses between both orders, set by set. Channels last is tried on all kernels, the order as it
/// stands only on those that take most of the time.
class Layout {
 public:
  Layout(ops::Graph graph, const std::vector<ir::Dim>& dims, KernelDrafts& drafts)
      : graph_(std::move(graph)), dims_(dims), drafts_(drafts) {}

  ops::Graph run(const std::vector<std::vector<int>>& groups) {
    for (const std::vector<int>& set : ops::image_sets(graph_, groups, dims_)) {
      ops::set_orders(graph_, set, true);
      const std::vector<Weighed> touched = heaviest(groups, set);
      ops::set_orders(graph_, set, false);
      double last = 0, first = 0;
      std::vector<const std::vector<int>*> same;
      for (const Weighed& w : touched) {
        last += w.cycles;
        same.push_back(w.nodes);
      }
      prepare(same);
      for (const std::vector<int>* nodes : same) first += cycles(*nodes);
      ops::set_orders(graph_, set, last < first);
    }
    return std::move(graph_);
  }

 private:
  /// A group, and the cycles that its kernel takes.
  struct Weighed {
    const std::vector<int>* nodes = nullptr;
    double cycles = 0;
  };

  /// The groups of a set's values that take most of its time.
  std::vector<Weighed> heaviest(const std::vector<std::vector<int>>& groups,
                                const std::vector<int>& set) {
    std::vector<const std::vector<int>*> all;
    for (const std::vector<int>& group : groups) {
      if (touches(group, set)) all.push_back(&group);
    }
    prepare(all);
    std::vector<Weighed> touched;
    double sum = 0, taken = 0;
    for (const std::vector<int>* nodes : all) {
      touched.push_back({nodes, cycles(*nodes)});
      sum += touched.back().cycles;
    }
    std::stable_sort(touched.begin(), touched.end(),
                     [](const Weighed& a, const Weighed& b) { return a.cycles > b.cycles; });
    size_t count = 0;
    while (count < touched.size() && !(taken >= kShare * sum)) taken += touched[count++].cycles;
    touched.resize(count);
    return touched;
  }

  bool touches(const std::vector<int>& group, const std::vector<int>& set) const {
    const auto in_set = [&](int v) { return std::binary_search(set.begin(), set.end(), v); };
    return std::any_of(group.begin(), group.end(), [&](int n) {
      const ops::GraphNode& node = graph_.nodes[static_cast<size_t>(n)];
      return std::any_of(node.reads.begin(), node.reads.end(), in_set) ||
             std::any_of(node.makes.begin(), node.makes.end(), in_set);
    });
  }

  void prepare(const std::vector<const std::vector<int>*>& groups) {
    std::vector<const ops::Problem*> problems;
    for (const std::vector<int>* nodes : groups) {
      const auto& group = drafts_.group(graph_, *nodes);
      if (group) problems.push_back(&group->problem);
    }
    drafts_.prepare(problems);
  }

  double cycles(const std::vector<int>& nodes) {
    const auto& group = drafts_.group(graph_, nodes);
    return group ? drafts_.of(group->problem).cycles : INFINITY;
  }

  ops::Graph graph_;
  const std::vector<ir::Dim>& dims_;
  KernelDrafts& drafts_;
};

}  // namespace

ops::Graph with_orders(ops::Graph graph, const std::vector<std::vector<int>>& groups,
                       const std::vector<ir::Dim>& dims, KernelDrafts& drafts) {
  return Layout(std::move(graph), dims, drafts).run(groups);
}

}  // namespace hone::runtime
