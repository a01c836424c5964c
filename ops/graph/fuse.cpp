// SPDX-License-Identifier: Apache-2.0
#include "ops/graph/fuse.h"

#include <algorithm>
#include <map>
#include <set>

#include "ops/gradient/terms.h"

namespace hone::ops {
namespace {

/// Nodes of one group, and tensors that they read.
/// Chosen: within what an op may have (not measured).
constexpr size_t kMostNodes = 32, kMostReads = 64;

/// Is `access` at the indices of the statement, in their order?
bool is_in_place(const Statement& s, const Term& access) {
  if (access.guarded || access.args.size() != s.indices.size()) return false;
  for (size_t i = 0; i < access.args.size(); ++i) {
    const Term& at = access.args[i];
    if (at.kind != Term::kName || at.name != s.indices[i].name) return false;
  }
  return true;
}

class Fusion {
 public:
  explicit Fusion(const Graph& graph) : graph_(graph), group_of_(graph.nodes.size(), -1) {}

  std::vector<std::vector<int>> run() {
    for (size_t n = 0; n < graph_.nodes.size(); ++n) {
      const int node = static_cast<int>(n), group = group_for(node);
      group_of_[n] = group;
      groups_[static_cast<size_t>(group)].push_back(node);
    }
    // A group runs where its last node stands: all that it reads is there then.
    std::erase_if(groups_, [](const std::vector<int>& g) { return g.empty(); });
    std::stable_sort(groups_.begin(), groups_.end(),
                     [](const auto& a, const auto& b) { return a.back() < b.back(); });
    return std::move(groups_);
  }

 private:
  const GraphValue& value(int v) const { return graph_.values[static_cast<size_t>(v)]; }

  /// The group that the node joins: the one of the latest producer it goes along with.
  int group_for(int n) {
    const GraphNode& node = graph_.nodes[static_cast<size_t>(n)];
    int joined = -1, latest = -1;
    size_t next = 0;
    for (const Argument& a : node.op.definition->args) {
      if (a.scalar || a.role != ir::Role::kInput) continue;
      const int v = node.reads[next++];
      const auto made = maker_.find(v);
      if (made == maker_.end() || made->second < latest || !may_join(node, a, v)) continue;
      latest = made->second;
      joined = group_of_[static_cast<size_t>(made->second)];
    }
    if (joined < 0) {
      joined = static_cast<int>(groups_.size());
      groups_.emplace_back();
    }
    for (const int v : node.makes) {
      if (v >= 0) maker_[v] = n;
    }
    return joined;
  }

  /// May `node` stand behind what makes `v`, in one op? Then nothing but the group's last value
  /// leaves it, so that it can run as late as its last node does.
  bool may_join(const GraphNode& node, const Argument& a, int v) {
    const GraphValue& read = value(v);
    const int maker = maker_.at(v), group = group_of_[static_cast<size_t>(maker)];
    const std::vector<int>& nodes = groups_[static_cast<size_t>(group)];
    size_t reads = node.reads.size();
    for (const int n : nodes) reads += graph_.nodes[static_cast<size_t>(n)].reads.size();
    if (nodes.size() >= kMostNodes || reads > kMostReads) return false;
    return !read.output && read.readers.size() == 1 && nodes.back() == maker &&
           graph_.nodes[static_cast<size_t>(maker)].makes.size() == 1 &&
           node.use.indices.size() == read.shape.size() && goes_along(*node.op.definition, a.name);
  }

  const Graph& graph_;
  std::vector<int> group_of_;  ///< per node
  std::vector<std::vector<int>> groups_;
  std::map<int, int> maker_;  ///< of a value: the node
};

}  // namespace

bool goes_along(const Definition& op, const std::string& name) {
  std::set<std::string> along{name};
  size_t rank = 0;
  for (const Argument& a : op.args) {
    if (a.name == name) rank = a.shape.size();
    if (a.role == ir::Role::kInOut) return false;
  }
  for (const Statement& s : op.statements) {
    if (s.scatters() || s.assign != Assign::kSet || s.indices.size() != rank) return false;
    bool in_place = true;
    const auto look = [&](const Term& t) {
      in_place &= t.kind != Term::kReduce;
      if (t.kind == Term::kAccess) {
        in_place &= t.name != s.name && (!along.contains(t.name) || is_in_place(s, t));
      }
      return !in_place;
    };
    any_part(s.value, look);
    for (const auto* terms : {&s.where, &s.otherwise}) {
      for (const Term& t : *terms) any_part(t, look);
    }
    if (!in_place) return false;
    along.insert(s.name);
  }
  return true;
}

std::vector<std::vector<int>> fused_groups(const Graph& graph) { return Fusion(graph).run(); }

std::vector<std::vector<int>> single_groups(const Graph& graph) {
  std::vector<std::vector<int>> groups;
  for (size_t n = 0; n < graph.nodes.size(); ++n) groups.push_back({static_cast<int>(n)});
  return groups;
}

}  // namespace hone::ops
