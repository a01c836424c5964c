// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "ops/graph/host_use.h"
#include "ops/graph/passes.h"

namespace hone::ops {

Graph with_nodes(Graph graph, const std::vector<bool>& keeps) {
  std::vector<GraphNode> nodes;
  for (size_t n = 0; n < graph.nodes.size(); ++n) {
    if (keeps[n]) nodes.push_back(std::move(graph.nodes[n]));
  }
  graph.nodes = std::move(nodes);
  for (GraphValue& v : graph.values) v.readers.clear();
  for (size_t n = 0; n < graph.nodes.size(); ++n) {
    for (const int v : graph.nodes[n].reads) {
      std::vector<int>& readers = graph.values[static_cast<size_t>(v)].readers;
      const int reader = static_cast<int>(n);
      if (readers.empty() || readers.back() != reader) readers.push_back(reader);
    }
  }
  return graph;
}

Graph without_unread(Graph graph) {
  std::vector<size_t> reads(graph.values.size());
  for (const GraphNode& node : graph.nodes) {
    for (const int v : node.reads) ++reads[static_cast<size_t>(v)];
  }
  // A node that tells a dim is read by those that name it.
  const std::vector<std::vector<int>> told_by = tellers(graph);
  std::vector<size_t> tells(graph.nodes.size());
  for (const std::vector<int>& all : told_by) {
    for (const int h : all) ++tells[static_cast<size_t>(h)];
  }
  std::vector<bool> keeps(graph.nodes.size(), true);
  for (size_t n = graph.nodes.size(); n-- > 0;) {
    const GraphNode& node = graph.nodes[n];
    keeps[n] = std::any_of(node.makes.begin(), node.makes.end(), [&](int v) {
      const auto at = static_cast<size_t>(v);
      return v >= 0 && (graph.values[at].output || reads[at] > 0);
    });
    keeps[n] = keeps[n] || tells[n] > 0;
    if (keeps[n]) continue;
    for (const int h : told_by[n]) --tells[static_cast<size_t>(h)];
    for (const int v : node.reads) --reads[static_cast<size_t>(v)];
  }
  return with_nodes(std::move(graph), keeps);
}

}  // namespace hone::ops
