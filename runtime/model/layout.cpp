// SPDX-License-Identifier: Apache-2.0
#include "runtime/model/layout.h"

#include <algorithm>
#include <cmath>

#include "ops/graph/homes.h"
#include "ops/graph/orders.h"

namespace hone::runtime {
namespace {

/// The share of a set's work by whose kernels its order is chosen.
/// Tuned on: an Intel server (AVX-512 and AVX2), 13 models. Orders are those by kernels with most
/// of the time, but for one model, which is as fast.
constexpr double kShare = 0.8;

/// Chooses between both orders, set by set, by the kernels that have most of the work. Channels
/// last is tried on all of these, the order as it stands no longer than it may be the faster one.
class Layout {
 public:
  Layout(ops::Graph graph, const std::vector<ir::Dim>& dims, KernelDrafts& drafts)
      : graph_(std::move(graph)), dims_(dims), drafts_(drafts) {}

  ops::Graph run(const std::vector<std::vector<int>>& groups) {
    for (const std::vector<int>& set : ops::image_sets(graph_, groups, dims_)) {
      set_orders(groups, set, true);
      const std::vector<const std::vector<int>*> heavy = heaviest(groups, set);
      prepare(heavy);
      double last = 0;
      for (const std::vector<int>* nodes : heavy) last += cycles(*nodes);
      set_orders(groups, set, false);
      if (last < cycles_up_to(last, heavy)) ops::set_orders(graph_, set, true);
    }
    return std::move(graph_);
  }

 private:
  /// Kernels are asked for as they will be: they write where their results will lie.
  void set_orders(const ops::GraphGroups& groups, const std::vector<int>& set, bool last) {
    ops::set_orders(graph_, set, last);
    runs_ = ops::find_homes(graph_, groups, dims_, true).in_memory;
    runs_.flip();
  }

  /// The groups of a set's values that have most of its work.
  std::vector<const std::vector<int>*> heaviest(const std::vector<std::vector<int>>& groups,
                                                const std::vector<int>& set) {
    std::vector<std::pair<double, const std::vector<int>*>> touched;
    double sum = 0, taken = 0;
    for (size_t i = 0; i < groups.size(); ++i) {
      if (!runs_[i] || !touches(groups[i], set)) continue;
      touched.emplace_back(work(groups[i]), &groups[i]);
      sum += touched.back().first;
    }
    std::stable_sort(touched.begin(), touched.end(),
                     [](const auto& a, const auto& b) { return a.first > b.first; });
    std::vector<const std::vector<int>*> out;
    for (size_t i = 0; i < touched.size() && !(taken >= kShare * sum); ++i) {
      taken += touched[i].first;
      out.push_back(touched[i].second);
    }
    return out;
  }

  /// The cycles of these groups as values lie now; of some of them where those take more than
  /// `most`. As many as there are threads are drafted at once.
  double cycles_up_to(double most, const std::vector<const std::vector<int>*>& groups) {
    const auto at_once = static_cast<size_t>(std::max(drafts_.threads(), 1));
    double sum = 0;
    for (size_t i = 0; i < groups.size() && sum <= most;) {
      std::vector<const std::vector<int>*> some;
      for (; i < groups.size() && some.size() < at_once; ++i) some.push_back(groups[i]);
      prepare(some);
      for (const std::vector<int>* nodes : some) sum += cycles(*nodes);
    }
    return sum;
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

  /// A group's weight among others, before it has a draft.
  double work(const std::vector<int>& nodes) {
    const auto& group = drafts_.group(graph_, nodes);
    return group ? drafts_.rough_cycles(group->problem) : 0;
  }

  ops::Graph graph_;
  const std::vector<ir::Dim>& dims_;
  KernelDrafts& drafts_;
  std::vector<bool> runs_;  ///< per group: it has a kernel, as values lie now
};

}  // namespace

ops::Graph with_orders(ops::Graph graph, const std::vector<std::vector<int>>& groups,
                       const std::vector<ir::Dim>& dims, KernelDrafts& drafts) {
  return Layout(std::move(graph), dims, drafts).run(groups);
}

}  // namespace hone::runtime
