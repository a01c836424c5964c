// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <map>
#include <numeric>

#include "ops/gradient/terms.h"
#include "ops/graph/passes.h"

namespace hone::ops {
namespace {

/// What a node computes, by its text and the values that it reads: the same for equal ones.
std::string text_of(const GraphNode& node) {
  Statement use = node.use;
  use.name.clear();
  for (Left& left : use.also) left.name.clear();
  size_t next = 0;
  for (const Argument& a : node.op.definition->args) {
    if (a.role != ir::Role::kInput) continue;
    Term& given = use.value.args[next++];
    if (!a.scalar) given = name_term("");
  }
  return fmt::format("{}\n{}\n{}", node.op.text(), print(use), fmt::join(node.reads, ","));
}

}  // namespace

Graph without_repeats(Graph graph) {
  std::vector<int> same(graph.values.size());
  std::iota(same.begin(), same.end(), 0);
  std::map<std::string, size_t> known;
  std::vector<bool> keeps(graph.nodes.size(), true);
  for (size_t n = 0; n < graph.nodes.size(); ++n) {
    GraphNode& node = graph.nodes[n];
    for (int& v : node.reads) v = same[static_cast<size_t>(v)];
    // Others name the dim that data tell.
    if (node.host) continue;
    const auto [at, fresh] = known.emplace(text_of(node), n);
    if (fresh) continue;
    const GraphNode& first = graph.nodes[at->second];
    bool stands = true;
    for (size_t i = 0; i < node.makes.size(); ++i) {
      const int v = node.makes[i];
      stands &= v < 0 || (first.makes[i] >= 0 && !graph.values[static_cast<size_t>(v)].output);
    }
    if (!stands) continue;
    keeps[n] = false;
    for (size_t i = 0; i < node.makes.size(); ++i) {
      if (node.makes[i] >= 0) same[static_cast<size_t>(node.makes[i])] = first.makes[i];
    }
  }
  return with_nodes(std::move(graph), keeps);
}

}  // namespace hone::ops
