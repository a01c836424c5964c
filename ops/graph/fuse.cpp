// SPDX-License-Identifier: Apache-2.0
#include "ops/graph/fuse.h"

#include <algorithm>
#include <set>

#include "ops/graph/extent_range.h"
#include "ops/graph/host_use.h"
#include "ops/graph/reading.h"

namespace hone::ops {
namespace {

/// Nodes of one group, tensors that they read, and results that leave it.
/// Chosen: within what an op may have (not measured).
constexpr size_t kMostNodes = 32, kMostReads = 64, kMostMakes = 8;

class Fusion {
 public:
  Fusion(const Graph& graph, const std::vector<ir::Dim>& dims)
      : graph_(graph),
        dims_(dims),
        group_of_(graph.nodes.size(), -1),
        maker_(graph.values.size()),
        tellers_(tellers(graph)) {
    for (size_t n = 0; n < graph.nodes.size(); ++n) {
      for (const int v : graph.nodes[n].makes) {
        if (v >= 0) maker_[static_cast<size_t>(v)] = static_cast<int>(n) + 1;
      }
      facts_.push_back(facts_of(graph.nodes[n]));
    }
  }

  std::vector<std::vector<int>> run() {
    for (size_t n = 0; n < graph_.nodes.size(); ++n) {
      if (!waits(static_cast<int>(n))) place(static_cast<int>(n));
    }
    return in_order();
  }

 private:
  struct Facts {
    bool view = false;   ///< it has no kernel, or is a function of the host
    int moves = -1;      ///< the argument that it only moves
    bool light = false;  ///< as `is_light`
  };
  struct Group {
    std::vector<int> nodes;
    bool light = true;
    size_t reads = 0;
    std::set<int> before;  ///< groups whose results it reads
  };

  const GraphNode& node(int n) const { return graph_.nodes[static_cast<size_t>(n)]; }
  const GraphValue& value(int v) const { return graph_.values[static_cast<size_t>(v)]; }
  const Facts& facts(int n) const { return facts_[static_cast<size_t>(n)]; }
  Group& group(int g) { return groups_[static_cast<size_t>(g)]; }
  const Group& group(int g) const { return groups_[static_cast<size_t>(g)]; }
  const std::vector<int>& told_by(int n) const { return tellers_[static_cast<size_t>(n)]; }
  /// The node that makes a value, and its group; -1: none does, or none so far.
  int maker(int v) const { return maker_[static_cast<size_t>(v)] - 1; }
  int group_of(int v) const { return maker(v) < 0 ? -1 : group_of_[static_cast<size_t>(maker(v))]; }

  Facts facts_of(const GraphNode& n) const {
    Facts f;
    f.view = n.host || is_view(graph_, n, dims_);
    if (n.host) return f;
    if (!f.view) f.moves = moved_argument(n);
    f.light = is_light(*n.op.definition);
    for (const int v : n.reads) f.light &= repeats_whole(n, v);
    return f;
  }

  /// The argument of a node that its read `i` is.
  const Argument& argument(const GraphNode& n, size_t i) const {
    for (const Argument& a : n.op.definition->args) {
      if (a.scalar || a.role != ir::Role::kInput) continue;
      if (i-- == 0) return a;
    }
    return n.op.definition->args[0];
  }

  /// Does every read of `v` by a node hold `holds(argument)`?
  template <class F>
  bool each_read(const GraphNode& n, int v, const F& holds) const {
    for (size_t i = 0; i < n.reads.size(); ++i) {
      if (n.reads[i] == v && !holds(argument(n, i))) return false;
    }
    return true;
  }

  /// Where an op is repeated over more indices than it has: is `v` another part for each?
  bool repeats_whole(const GraphNode& n, int v) const {
    size_t more = 0, result = 0;
    for (const Argument& a : n.op.definition->args) {
      const int made = a.role == ir::Role::kOutput ? n.makes[result++] : -1;
      if (made >= 0) more = value(made).shape.size() - a.shape.size();
    }
    return each_read(
        n, v, [&](const Argument& a) { return value(v).shape.size() == a.shape.size() + more; });
  }

  bool goes_along(int n, int v) const {
    return !node(n).host && node(n).use.indices.size() == value(v).shape.size() &&
           each_read(node(n), v, [&](const Argument& a) {
             return ops::goes_along(*node(n).op.definition, a.name);
           });
  }
  bool reads_plainly(int n, int v) const {
    return !node(n).host && repeats_whole(node(n), v) &&
           each_read(node(n), v, [&](const Argument& a) {
             return ops::reads_plainly(*node(n).op.definition, a.name);
           });
  }

  bool same_shape(int a, int b) const {
    const std::vector<ir::Expr>&one = value(a).shape, &other = value(b).shape;
    if (one.size() != other.size()) return false;
    for (size_t i = 0; i < one.size(); ++i) {
      const ir::Expr x = with_fixed_dims(one[i], dims_), y = with_fixed_dims(other[i], dims_);
      if (!ir::equal(x, y)) return false;
    }
    return true;
  }

  /// A node that moves elements joins the only one that reads them. That one reads each where it
  /// stands, or is light: rows that data choose are read again and again by others.
  bool waits(int n) const {
    if (facts(n).moves < 0) return false;
    const GraphValue& made = value(node(n).makes[0]);
    if (made.output || made.readers.size() != 1) return false;
    const int reader = made.readers[0];
    const int g = group_of(node(n).reads[static_cast<size_t>(facts(n).moves)]);
    if (g >= 0 && !group(g).light && facts(reader).light && may_join(n, g)) return false;
    if (facts(reader).view || !reads_plainly(reader, node(n).makes[0])) return false;
    return moved_by_indices(node(n)) >= 0 || facts(reader).light;
  }

  /// Puts a node into the group of the latest maker that it may join, or into one of its own.
  void place(int n) {
    int joined = -1, latest = -1;
    for (const int v : node(n).reads) {
      const int g = group_of(v);
      if (g < 0 || maker(v) < latest || !may_join(n, g)) continue;
      latest = maker(v);
      joined = g;
    }
    if (joined < 0) {
      joined = static_cast<int>(groups_.size());
      groups_.emplace_back();
      group(joined).light = facts(n).light;
    }
    add(n, joined);
    for (const int v : node(n).reads) add_moves(v, n);
  }

  /// What moves elements to a node joins its group, where nothing else is between them.
  void add_moves(int v, int reader) {
    const int n = maker(v);
    if (n < 0 || group_of(v) >= 0) return;
    const int g = group_of_[static_cast<size_t>(reader)];
    if (fits(n, g) && !closes_circle(n, g)) {
      add(n, g);
    } else {
      groups_.emplace_back();
      add(n, static_cast<int>(groups_.size()) - 1);
      group(g).before.insert(static_cast<int>(groups_.size()) - 1);
    }
    for (const int from : node(n).reads) add_moves(from, n);
  }

  void add(int n, int g) {
    group_of_[static_cast<size_t>(n)] = g;
    Group& to = group(g);
    to.nodes.push_back(n);
    to.reads += node(n).reads.size();
    for (const int v : node(n).reads) {
      if (group_of(v) >= 0 && group_of(v) != g) to.before.insert(group_of(v));
    }
    for (const int h : told_by(n)) to.before.insert(group_of_[static_cast<size_t>(h)]);
  }

  bool fits(int n, int g) const {
    return group(g).nodes.size() < kMostNodes &&
           group(g).reads + node(n).reads.size() <= kMostReads;
  }

  bool may_join(int n, int g) const {
    if (facts(n).view || !fits(n, g) || closes_circle(n, g)) return false;
    if (std::any_of(group(g).nodes.begin(), group(g).nodes.end(),
                    [&](int m) { return facts(m).view || node(m).makes.size() != 1; })) {
      return false;
    }
    for (const int v : node(n).reads) {
      if (group_of(v) == g && !(group(g).light ? joins_light(n, v) : joins_heavy(n, v)))
        return false;
    }
    return makes_of(g, n) <= kMostMakes;
  }

  bool joins_light(int n, int v) const {
    if (value(v).readers.size() == 1 && !value(v).output && goes_along(n, v)) return true;
    return facts(n).light && reads_plainly(n, v);
  }

  /// Does another reader of `v` wait for a contraction behind node `n`? Then `v` leaves the group.
  bool is_read_later(int n, int v) const {
    std::set<int> seen;
    const std::vector<int>& readers = value(v).readers;
    return std::any_of(readers.begin(), readers.end(),
                       [&](int r) { return r > n && needs_contraction(r, n, seen); });
  }

  /// Does a node read what a contraction behind node `n` makes, or what is made of that?
  bool needs_contraction(int reader, int n, std::set<int>& seen) const {
    return std::any_of(node(reader).reads.begin(), node(reader).reads.end(), [&](int v) {
      const int m = maker(v);
      if (m <= n || !seen.insert(m).second) return false;
      return !facts(m).light || needs_contraction(m, n, seen);
    });
  }

  /// Of contractions nothing but what is computed of them at once leaves a group. A result that
  /// leaves is read by others then, and nothing else is made of it: kernels of two results are
  /// slow.
  bool joins_heavy(int n, int v) const {
    const GraphValue& read = value(v);
    if (read.output || node(n).makes.size() != 1 || node(n).makes[0] < 0) return false;
    if (is_read_later(n, v)) return false;
    const bool moves = facts(n).moves >= 0 && read.readers.size() == 1 && reads_plainly(n, v);
    return moves || std::all_of(read.readers.begin(), read.readers.end(), [&](int r) {
             return goes_along(r, v) && node(r).makes.size() == 1 && node(r).makes[0] >= 0 &&
                    same_shape(v, node(r).makes[0]);
           });
  }

  /// How many results leave a group with `n`.
  size_t makes_of(int g, int n) const {
    size_t makes = 0;
    const auto inside = [&](int m) { return m == n || group_of_[static_cast<size_t>(m)] == g; };
    for (const int m : group(g).nodes) {
      for (const int v : node(m).makes) {
        const std::vector<int>& readers = value(v).readers;
        makes += value(v).output || !std::all_of(readers.begin(), readers.end(), inside);
      }
    }
    return makes + node(n).makes.size();
  }

  /// Would `g` with `n` read what is made of its own results elsewhere?
  bool closes_circle(int n, int g) const {
    std::set<int> seen;
    for (const int v : node(n).reads) {
      if (reaches(v, g, seen)) return true;
    }
    return is_told_behind(n, g, seen);
  }

  /// Is a dim that `n` names told by what reads results of `g`? Nodes that tell are placed at once.
  bool is_told_behind(int n, int g, std::set<int>& seen) const {
    return std::any_of(told_by(n).begin(), told_by(n).end(), [&](int h) {
      return reaches_group(group_of_[static_cast<size_t>(h)], g, seen);
    });
  }

  /// Is value `v`, unless `g` makes it, made of what `g` makes?
  bool reaches(int v, int g, std::set<int>& seen) const {
    const int from = group_of(v), m = maker(v);
    if (m < 0 || from == g) return false;
    if (from >= 0) return reaches_group(from, g, seen);
    // A node that waits will read these.
    return is_told_behind(m, g, seen) ||
           std::any_of(node(m).reads.begin(), node(m).reads.end(),
                       [&](int r) { return group_of(r) == g ? false : reaches(r, g, seen); });
  }

  bool reaches_group(int from, int g, std::set<int>& seen) const {
    if (from == g) return true;
    if (!seen.insert(from).second) return false;
    const std::set<int>& before = group(from).before;
    return std::any_of(before.begin(), before.end(),
                       [&](int b) { return reaches_group(b, g, seen); });
  }

  /// Groups behind those that they read, else as their first nodes stand.
  std::vector<std::vector<int>> in_order() {
    std::vector<std::vector<int>> out;
    std::vector<bool> done(groups_.size());
    const auto visit = [&](const auto& self, int g) -> void {
      if (done[static_cast<size_t>(g)]) return;
      done[static_cast<size_t>(g)] = true;
      for (const int b : group(g).before) self(self, b);
      std::sort(group(g).nodes.begin(), group(g).nodes.end());
      out.push_back(group(g).nodes);
    };
    for (size_t g = 0; g < groups_.size(); ++g) visit(visit, static_cast<int>(g));
    return out;
  }

  const Graph& graph_;
  const std::vector<ir::Dim>& dims_;
  std::vector<int> group_of_;              ///< per node; -1: not placed
  std::vector<int> maker_;                 ///< per value: the node that makes it and 1; 0: none
  std::vector<std::vector<int>> tellers_;  ///< per node: those that tell its dims
  std::vector<Facts> facts_;               ///< per node
  std::vector<Group> groups_;
};

}  // namespace

std::vector<std::vector<int>> fused_groups(const Graph& graph, const std::vector<ir::Dim>& dims) {
  return Fusion(graph, dims).run();
}

std::vector<std::vector<int>> single_groups(const Graph& graph) {
  std::vector<std::vector<int>> groups;
  for (size_t n = 0; n < graph.nodes.size(); ++n) groups.push_back({static_cast<int>(n)});
  return groups;
}

}  // namespace hone::ops
