// SPDX-License-Identifier: Apache-2.0
#include "ops/graph/plan.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <numeric>
#include <optional>

#include "ops/graph/host_use.h"
#include "ops/graph/orders.h"

namespace hone::ops {
namespace {

/// The first result of a node that is read.
int name_of_node(const GraphNode& node) {
  const auto at =
      std::find_if(node.makes.begin(), node.makes.end(), [](int made) { return made >= 0; });
  return at == node.makes.end() ? -1 : *at;
}

std::vector<std::string_view> split(std::string_view text, char at) {
  std::vector<std::string_view> parts;
  while (true) {
    const size_t end = text.find(at);
    parts.push_back(text.substr(0, end));
    if (end == text.npos) return parts;
    text.remove_prefix(end + 1);
  }
}

std::vector<std::string_view> words(std::string_view text) {
  std::vector<std::string_view> all = split(text, ' ');
  std::erase(all, std::string_view());
  return all;
}

class PlanReader {
 public:
  PlanReader(const Graph& graph, const std::vector<ir::Dim>& dims)
      : graph_(graph),
        free_(reorderable(graph, dims)),
        maker_(graph.values.size(), -1),
        tellers_(tellers(graph)) {
    for (size_t n = 0; n < graph.nodes.size(); ++n) {
      for (const int v : graph.nodes[n].makes) {
        if (v >= 0) maker_[static_cast<size_t>(v)] = static_cast<int>(n);
      }
    }
  }

  Result<GraphGroups> groups(std::string_view text) {
    GraphGroups groups;
    std::vector<bool> done(graph_.nodes.size());
    for (const std::string_view word : words(text)) {
      groups.emplace_back();
      for (const std::string_view name : split(word, '+')) {
        const int v = graph_.find(name), n = v < 0 ? -1 : maker_[static_cast<size_t>(v)];
        if (n < 0 || name_of_node(graph_.nodes[static_cast<size_t>(n)]) != v) {
          return wrong(fmt::format("no node has `{}` for its first result", name));
        }
        groups.back().push_back(n);
      }
      std::sort(groups.back().begin(), groups.back().end());
      for (const int n : groups.back()) {
        if (done[static_cast<size_t>(n)]) return wrong(fmt::format("`{}` comes twice", word));
        if (auto f = check_host(word, groups.back(), n, done); !f) return f.failure();
        for (const int v : graph_.nodes[static_cast<size_t>(n)].reads) {
          const int from = maker_[static_cast<size_t>(v)];
          if (from < 0 || done[static_cast<size_t>(from)]) continue;
          return wrong(fmt::format("`{}` reads `{}`, which is made later", word,
                                   graph_.values[static_cast<size_t>(v)].name));
        }
        done[static_cast<size_t>(n)] = true;
      }
    }
    for (size_t n = 0; n < done.size(); ++n) {
      // What makes nothing that is read need not run.
      if (done[n] || name_of_node(graph_.nodes[n]) < 0) continue;
      return wrong(fmt::format("the node `{}` is missing", print(graph_.nodes[n].use)));
    }
    return groups;
  }

  /// A function of the host is a group by itself, and runs before what names its dim.
  Result<Done> check_host(std::string_view word, const std::vector<int>& group, int n,
                          const std::vector<bool>& done) const {
    if (graph_.nodes[static_cast<size_t>(n)].host && group.size() > 1) {
      return wrong(fmt::format("`{}` has a function of the host with others", word));
    }
    for (const int h : tellers_[static_cast<size_t>(n)]) {
      if (done[static_cast<size_t>(h)]) continue;
      return wrong(fmt::format("`{}` has the dim {}, which is told later", word,
                               graph_.nodes[static_cast<size_t>(h)].host->dim));
    }
    return Done();
  }

  /// `a@0,2,3,1`: the value, and the order of its dims.
  Result<std::pair<int, std::vector<int>>> order(std::string_view word) const {
    const size_t sign = word.find('@');
    const int v = graph_.find(word.substr(0, sign));
    if (sign == word.npos || v < 0 || !free_[static_cast<size_t>(v)]) {
      return wrong(fmt::format("`{}` is no order of a value whose order is free", word));
    }
    std::vector<int> order;
    for (const std::string_view dim : split(word.substr(sign + 1), ',')) {
      int d = -1;
      const auto [end, error] = std::from_chars(dim.data(), dim.data() + dim.size(), d);
      order.push_back(error == std::errc() && end == dim.data() + dim.size() ? d : -1);
    }
    std::vector<int> sorted = order, all(graph_.values[static_cast<size_t>(v)].shape.size());
    std::sort(sorted.begin(), sorted.end());
    std::iota(all.begin(), all.end(), 0);
    if (sorted != all) {
      return wrong(fmt::format("`{}`: each of {} dims comes once", word, all.size()));
    }
    return std::pair(v, std::move(order));
  }

  Failure wrong(const std::string& why) const {
    return {ErrorCode::kSchedule, fmt::format("in a plan of graph `{}`: {}", graph_.name, why)};
  }

 private:
  const Graph& graph_;
  std::vector<bool> free_;
  std::vector<int> maker_;                 ///< per value: a node, or -1
  std::vector<std::vector<int>> tellers_;  ///< per node: those that tell its dims
};

}  // namespace

std::string print_plan(const Graph& graph, const GraphGroups& groups) {
  std::vector<std::string> all, orders;
  for (const std::vector<int>& group : groups) {
    std::vector<std::string_view> names;
    for (const int n : group) {
      const int v = name_of_node(graph.nodes[static_cast<size_t>(n)]);
      if (v >= 0) names.push_back(graph.values[static_cast<size_t>(v)].name);
    }
    if (!names.empty()) all.push_back(fmt::format("{}", fmt::join(names, "+")));
  }
  for (const GraphValue& v : graph.values) {
    if (!v.order.empty()) orders.push_back(fmt::format("{}@{}", v.name, fmt::join(v.order, ",")));
  }
  const std::string text = fmt::format("{}", fmt::join(all, " "));
  return orders.empty() ? text : fmt::format("{} | {}", text, fmt::join(orders, " "));
}

Result<GraphGroups> parse_plan(std::string_view text, const std::vector<ir::Dim>& dims,
                               Graph& graph) {
  PlanReader reader(graph, dims);
  const size_t bar = text.find('|');
  auto groups = reader.groups(text.substr(0, bar));
  if (!groups || bar == text.npos) return groups;
  std::vector<std::pair<int, std::vector<int>>> orders;
  for (const std::string_view word : words(text.substr(bar + 1))) {
    auto order = reader.order(word);
    if (!order) return order.failure();
    orders.push_back(*std::move(order));
  }
  for (GraphValue& v : graph.values) v.order.clear();
  for (auto& [v, order] : orders) graph.values[static_cast<size_t>(v)].order = std::move(order);
  return groups;
}

}  // namespace hone::ops
