// SPDX-License-Identifier: Apache-2.0
#include "ops/graph/orders.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>

#include "ops/graph/reading.h"

namespace hone::ops {
namespace {

/// Fixed by: batch, channels, and a dim that a window slides over.
constexpr size_t kLeastRank = 3;

/// Values, each in a set with others.
class Sets {
 public:
  explicit Sets(size_t values) : next_(values) { std::iota(next_.begin(), next_.end(), 0); }
  int of(int v) {
    while (next_[static_cast<size_t>(v)] != v) v = next_[static_cast<size_t>(v)];
    return v;
  }
  void join(int a, int b) { next_[static_cast<size_t>(of(a))] = of(b); }

 private:
  std::vector<int> next_;
};

/// Is some read of `v` by a node one of windows?
bool slides_over(const GraphNode& node, int v) {
  const Definition& op = *node.op.definition;
  size_t next = 0;
  for (const Argument& a : op.args) {
    if (a.scalar || a.role != ir::Role::kInput) continue;
    if (node.reads[next++] == v && !reads_plainly(op, a.name)) return true;
  }
  return false;
}

class Images {
 public:
  Images(const Graph& graph, const std::vector<ir::Dim>& dims)
      : graph_(graph), free_(reorderable(graph, dims)), sets_(graph.values.size()) {
    for (size_t v = 0; v < free_.size(); ++v) {
      free_[v] = free_[v] && graph.values[v].shape.size() >= kLeastRank;
    }
  }

  std::vector<std::vector<int>> run(const std::vector<std::vector<int>>& groups) {
    for (const std::vector<int>& group : groups) join(group);
    std::map<int, std::vector<int>> sets;
    std::map<int, bool> slid;
    for (size_t i = 0; i < free_.size(); ++i) {
      const int v = static_cast<int>(i), set = sets_.of(v);
      if (!free_[i]) continue;
      sets[set].push_back(v);
      for (const int n : graph_.values[i].readers) {
        slid[set] |= slides_over(graph_.nodes[static_cast<size_t>(n)], v);
      }
    }
    std::vector<std::vector<int>> out;
    for (auto& [set, values] : sets) {
      if (slid[set]) out.push_back(std::move(values));
    }
    return out;
  }

 private:
  void join(const std::vector<int>& group) {
    std::map<size_t, int> first;  // by the rank
    for (const int n : group) {
      const GraphNode& node = graph_.nodes[static_cast<size_t>(n)];
      for (const auto* side : {&node.reads, &node.makes}) {
        for (const int v : *side) {
          if (v < 0 || !free_[static_cast<size_t>(v)]) continue;
          const size_t rank = graph_.values[static_cast<size_t>(v)].shape.size();
          sets_.join(first.emplace(rank, v).first->second, v);
        }
      }
    }
  }

  const Graph& graph_;
  std::vector<bool> free_;  ///< per value: any order will do
  Sets sets_;
};

}  // namespace

std::vector<bool> reorderable(const Graph& graph, const std::vector<ir::Dim>& dims) {
  std::vector<bool> free;
  for (const GraphValue& v : graph.values) {
    free.push_back(v.kind == GraphValue::kMade && !v.output && !is_packed(v.type));
  }
  for (const GraphNode& node : graph.nodes) {
    for (const auto* side : {&node.reads, &node.makes}) {
      for (const int v : *side) {
        if (node.host && v >= 0) free[static_cast<size_t>(v)] = false;
      }
    }
    if (!is_view(graph, node, dims)) continue;
    for (const int v : {node.reads[0], node.makes[0]}) free[static_cast<size_t>(v)] = false;
  }
  return free;
}

std::vector<std::vector<int>> image_sets(const Graph& graph,
                                         const std::vector<std::vector<int>>& groups,
                                         const std::vector<ir::Dim>& dims) {
  return Images(graph, dims).run(groups);
}

std::vector<int> channels_last(size_t rank) {
  std::vector<int> order{0};
  for (size_t d = 2; d < rank; ++d) order.push_back(static_cast<int>(d));
  order.push_back(1);
  return order;
}

void set_orders(Graph& graph, const std::vector<int>& values, bool last) {
  for (const int v : values) {
    GraphValue& value = graph.values[static_cast<size_t>(v)];
    value.order = last ? channels_last(value.shape.size()) : std::vector<int>();
  }
}

std::string layout_word(const Argument& a, const GraphValue& value) {
  if (!value.strides.empty()) {
    return fmt::format("{}.stride=({})", a.name, fmt::join(value.strides, ","));
  }
  const auto name = [&](int d) {
    const Term& extent = a.shape[static_cast<size_t>(d)];
    const auto same = std::count_if(a.shape.begin(), a.shape.end(), [&](const Term& t) {
      return t.kind == Term::kName && t.name == extent.name;
    });
    return extent.kind == Term::kName && same == 1 ? extent.name : fmt::format("d{}", d);
  };
  std::vector<std::string> names;
  for (const int d : value.order) names.push_back(name(d));
  return names.empty() ? "" : fmt::format("{}@{}", a.name, fmt::join(names, ","));
}

}  // namespace hone::ops
