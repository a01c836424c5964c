// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

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
  std::vector<bool> keeps(graph.nodes.size(), true);
  for (size_t n = graph.nodes.size(); n-- > 0;) {
    const GraphNode& node = graph.nodes[n];
    keeps[n] = std::any_of(node.makes.begin(), node.makes.end(), [&](int v) {
      const auto at = static_cast<size_t>(v);
      return v >= 0 && (graph.values[at].output || reads[at] > 0);
    });
    if (keeps[n]) continue;
    for (const int v : node.reads) --reads[static_cast<size_t>(v)];
  }
  return with_nodes(std::move(graph), keeps);
}

}  // namespace hone::ops
