// SPDX-License-Identifier: Apache-2.0
#include "runtime/model/plan_changes.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>

#include "ops/graph/homes.h"
#include "ops/graph/orders.h"

namespace hone::runtime {
namespace {

using ops::GraphGroups;

class Changes {
 public:
  Changes(const PlannedGraph& plan, const std::vector<ir::Dim>& dims, KernelDrafts& drafts)
      : plan_(plan), dims_(dims), drafts_(drafts), kernels_(kernels_of(plan, drafts)) {
    for (size_t p = 0; p < plan.groups.size(); ++p) {
      texts_.push_back(text_of(plan, p));
      if (!texts_.back().empty()) same_[texts_.back()].push_back(texts_.size() - 1);
    }
  }

  std::vector<PlanChange> run() {
    for (const auto& [text, places] : same_) cut(places);
    join();
    for (const std::vector<int>& set : ops::image_sets(plan_.graph, plan_.groups, dims_)) {
      turn(set);
    }
    std::vector<const ops::Problem*> problems;
    for (const auto& [text, problem] : problems_) problems.push_back(problem);
    drafts_.prepare(problems);
    return std::move(changes_);
  }

 private:
  const std::vector<int>& group(size_t place) const { return plan_.groups[place]; }
  const ops::GraphNode& node(int n) const { return plan_.graph.nodes[static_cast<size_t>(n)]; }

  /// The problem of a group; empty: it has no kernel.
  std::string text_of(const PlannedGraph& plan, size_t place) {
    if (plan.no_kernel[place]) return "";
    const auto& made = drafts_.group(plan.graph, plan.groups[place]);
    if (!made) return "";
    problems_.emplace(made->problem.text, &made->problem);
    return made->problem.text;
  }

  /// `a+b`, and how many others are alike.
  std::string name_of(size_t place, size_t alike) const {
    const std::string name = ops::print_plan(plan_.graph, {group(place)});
    const std::string first = name.substr(0, name.find(' '));
    return alike > 1 ? fmt::format("{} and {} alike", first, alike - 1) : first;
  }

  /// All that have one kernel, between the same two nodes.
  void cut(const std::vector<size_t>& places) {
    for (size_t at = 1; at < group(places[0]).size(); ++at) {
      GraphGroups groups;
      for (size_t p = 0; p < plan_.groups.size(); ++p) {
        const std::vector<int>& nodes = group(p);
        if (!std::binary_search(places.begin(), places.end(), p)) {
          groups.push_back(nodes);
          continue;
        }
        const auto middle = nodes.begin() + static_cast<std::ptrdiff_t>(at);
        groups.emplace_back(nodes.begin(), middle);
        groups.emplace_back(middle, nodes.end());
      }
      add(fmt::format("{} apart behind node {}", name_of(places[0], places.size()), at),
          PlannedGraph(plan_.graph, std::move(groups), dims_));
    }
  }

  /// All pairs of two kernels where one reads what the other one makes.
  void join() {
    std::vector<int> place_of(plan_.graph.values.size(), -1);
    std::map<std::pair<std::string, std::string>, std::vector<std::pair<size_t, size_t>>> pairs;
    for (size_t p = 0; p < plan_.groups.size(); ++p) {
      std::set<int> from;
      for (const int n : group(p)) {
        for (const int v : node(n).reads) from.insert(place_of[static_cast<size_t>(v)]);
      }
      for (const int n : group(p)) {
        for (const int v : node(n).makes) {
          if (v >= 0) place_of[static_cast<size_t>(v)] = static_cast<int>(p);
        }
      }
      for (const int q : from) {
        if (q < 0) continue;
        const auto maker = static_cast<size_t>(q);
        if (texts_[p].empty() || texts_[maker].empty() || read_between(maker, p)) continue;
        pairs[{texts_[maker], texts_[p]}].emplace_back(maker, p);
      }
    }
    for (const auto& [texts, all] : pairs) join(all);
  }

  /// Does a group between both read what the first one makes?
  bool read_between(size_t maker, size_t reader) const {
    const std::vector<int>& makers = group(maker);
    for (size_t p = maker + 1; p < reader; ++p) {
      for (const int n : makers) {
        for (const int v : node(n).makes) {
          if (v < 0) continue;
          const std::vector<int>& readers = plan_.graph.values[static_cast<size_t>(v)].readers;
          const auto inside = [&](int r) {
            return std::binary_search(group(p).begin(), group(p).end(), r);
          };
          if (std::any_of(readers.begin(), readers.end(), inside)) return true;
        }
      }
    }
    return false;
  }

  void join(const std::vector<std::pair<size_t, size_t>>& pairs) {
    std::map<size_t, size_t> maker_of;
    std::set<size_t> taken;
    for (const auto& [maker, reader] : pairs) {
      if (taken.contains(maker) || taken.contains(reader)) continue;
      taken.insert({maker, reader});
      maker_of.emplace(reader, maker);
    }
    GraphGroups groups;
    for (size_t p = 0; p < plan_.groups.size(); ++p) {
      const auto at = maker_of.find(p);
      if (at == maker_of.end()) {
        if (!taken.contains(p)) groups.push_back(group(p));
        continue;
      }
      groups.push_back(group(at->second));
      groups.back().insert(groups.back().end(), group(p).begin(), group(p).end());
      std::sort(groups.back().begin(), groups.back().end());
    }
    const auto& [maker, reader] = pairs[0];
    add(fmt::format("{} with {}", name_of(maker, 1), name_of(reader, pairs.size())),
        PlannedGraph(plan_.graph, std::move(groups), dims_));
  }

  void turn(const std::vector<int>& set) {
    ops::Graph other = plan_.graph;
    const ops::GraphValue& first = other.values[static_cast<size_t>(set[0])];
    const bool last = first.order.empty();
    const std::string name = first.name;
    ops::set_orders(other, set, last);
    add(fmt::format("{} and {} values more {}", name, set.size() - 1,
                    last ? "with channels last" : "as their dims stand"),
        PlannedGraph(std::move(other), plan_.groups, dims_));
  }

  void add(std::string what, PlannedGraph plan) {
    for (size_t p = 0; p < plan.groups.size(); ++p) {
      if (!plan.no_kernel[p] && text_of(plan, p).empty()) return;
    }
    PlanChange change{std::move(what), std::move(plan), {}, {}};
    change.come = kernels_of(change.plan, drafts_);
    for (const auto& [text, count] : kernels_) {
      const auto at = change.come.find(text);
      const int stay = at == change.come.end() ? 0 : std::min(count, at->second);
      if (stay > 0 && (at->second -= stay) == 0) change.come.erase(at);
      if (count > stay) change.gone.emplace(text, count - stay);
    }
    changes_.push_back(std::move(change));
  }

  const PlannedGraph& plan_;
  const std::vector<ir::Dim>& dims_;
  KernelDrafts& drafts_;
  KernelCounts kernels_;
  std::vector<std::string> texts_;                   ///< per group: its problem
  std::map<std::string, std::vector<size_t>> same_;  ///< groups of one problem
  std::map<std::string, const ops::Problem*> problems_;
  std::vector<PlanChange> changes_;
};

}  // namespace

PlannedGraph::PlannedGraph(ops::Graph graph, ops::GraphGroups groups,
                           const std::vector<ir::Dim>& dims)
    : graph(std::move(graph)), groups(std::move(groups)) {
  no_kernel = ops::find_homes(this->graph, this->groups, dims, true).in_memory;
  for (size_t p = 0; p < this->groups.size(); ++p) {
    if (this->graph.nodes[static_cast<size_t>(this->groups[p][0])].host) no_kernel[p] = true;
  }
}

KernelCounts kernels_of(const PlannedGraph& plan, KernelDrafts& drafts) {
  KernelCounts counts;
  for (size_t p = 0; p < plan.groups.size(); ++p) {
    if (plan.no_kernel[p]) continue;
    const auto& group = drafts.group(plan.graph, plan.groups[p]);
    if (group) ++counts[group->problem.text];
  }
  return counts;
}

std::vector<PlanChange> plan_changes(const PlannedGraph& plan, const std::vector<ir::Dim>& dims,
                                     KernelDrafts& drafts) {
  return Changes(plan, dims, drafts).run();
}

}  // namespace hone::runtime
