// SPDX-License-Identifier: Apache-2.0
#include "runtime/model/layout.h"

#include <algorithm>
#include <cmath>

#include "ops/graph/orders.h"

namespace hone::runtime {
namespace {

class Layout {
 public:
  Layout(ops::Graph graph, const std::vector<ir::Dim>& dims, KernelDrafts& drafts)
      : graph_(std::move(graph)), dims_(dims), drafts_(drafts) {}

  ops::Graph run(const std::vector<std::vector<int>>& groups) {
    for (const std::vector<int>& set : ops::image_sets(graph_, groups, dims_)) {
      std::vector<const std::vector<int>*> touched;
      for (const std::vector<int>& group : groups) {
        if (touches(group, set)) touched.push_back(&group);
      }
      const double before = cycles(touched);
      order(set, true);
      if (!(cycles(touched) < before)) order(set, false);
    }
    return std::move(graph_);
  }

 private:
  void order(const std::vector<int>& set, bool last) {
    for (const int v : set) {
      ops::GraphValue& value = graph_.values[static_cast<size_t>(v)];
      value.order = last ? ops::channels_last(value.shape.size()) : std::vector<int>();
    }
  }

  bool touches(const std::vector<int>& group, const std::vector<int>& set) const {
    const auto in_set = [&](int v) { return std::binary_search(set.begin(), set.end(), v); };
    return std::any_of(group.begin(), group.end(), [&](int n) {
      const ops::GraphNode& node = graph_.nodes[static_cast<size_t>(n)];
      return std::any_of(node.reads.begin(), node.reads.end(), in_set) ||
             std::any_of(node.makes.begin(), node.makes.end(), in_set);
    });
  }

  double cycles(const std::vector<const std::vector<int>*>& groups) {
    double sum = 0;
    for (const std::vector<int>* nodes : groups) {
      const auto& group = drafts_.group(graph_, *nodes);
      if (!group) return INFINITY;
      sum += drafts_.of(group->problem).cycles;
    }
    return sum;
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
