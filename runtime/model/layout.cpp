// SPDX-License-Identifier: Apache-2.0
#include "runtime/model/layout.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <string>

#include "ops/graph/group.h"
#include "ops/graph/orders.h"
#include "schedules/model/model.h"
#include "schedules/space/space.h"

namespace hone::runtime {
namespace {

class Layout {
 public:
  Layout(ops::Graph graph, const std::vector<ir::Dim>& dims, EngineState& engine)
      : graph_(std::move(graph)), dims_(dims), engine_(engine), library_(engine.library()) {}

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
      const auto group = ops::make_group(graph_, *nodes, dims_, library_.get());
      if (!group) return INFINITY;
      const auto [known, fresh] = known_.emplace(group->problem.text, 0);
      if (fresh) known->second = estimate(group->problem.program);
      sum += known->second;
    }
    return sum;
  }

  /// Of the untuned kernel, in cycles.
  double estimate(const ir::Program& program) const {
    const ir::Target& target = engine_.target;
    const auto scheduled = schedules::apply(program, schedules::default_schedule(program, target));
    return scheduled ? schedules::estimate(*scheduled, target) : INFINITY;
  }

  ops::Graph graph_;
  const std::vector<ir::Dim>& dims_;
  EngineState& engine_;
  std::shared_ptr<const ops::Library> library_;
  std::map<std::string, double> known_;  ///< by the problem's text
};

}  // namespace

ops::Graph with_orders(ops::Graph graph, const std::vector<std::vector<int>>& groups,
                       const std::vector<ir::Dim>& dims, EngineState& engine) {
  return Layout(std::move(graph), dims, engine).run(groups);
}

}  // namespace hone::runtime
