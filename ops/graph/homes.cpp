// SPDX-License-Identifier: Apache-2.0
#include "ops/graph/homes.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>
#include <set>

#include "include/hone/element.h"
#include "ops/graph/extent_range.h"
#include "ops/graph/host_use.h"
#include "ops/graph/join.h"
#include "ops/graph/reading.h"

namespace hone::ops {
namespace {

/// Rows of a part that are shorter are copied by the join.
/// Fixed by: a cache line, which kernels of two parts would write in turns.
constexpr int64_t kLeastRow = 64;

/// Goes through groups from the last to the first: what is made later tells where its arguments
/// have to lie.
class HomeFinder {
 public:
  HomeFinder(Graph& graph, const GraphGroups& groups, const std::vector<ir::Dim>& dims)
      : graph_(graph),
        groups_(groups),
        dims_(dims),
        next_(graph.values.size()),
        at_(graph.values.size()),
        lodgers_(graph.values.size()),
        in_memory_(groups.size()) {
    std::iota(next_.begin(), next_.end(), 0);
    for (GraphValue& v : graph.values) v.strides.clear();
    for (const GraphNode& node : graph.nodes) {
      for (const auto* side : {&node.reads, &node.makes}) {
        for (const int v : *side) {
          if (node.host && v >= 0) of_host_.insert(v);
        }
      }
    }
  }

  Homes run(bool joins) {
    if (joins) find_joins();
    for (size_t g = groups_.size(); g-- > 0;) {
      if (groups_[g].size() != 1) continue;
      const int n = groups_[g][0];
      const GraphNode& node = graph_.nodes[static_cast<size_t>(n)];
      if (is_view(graph_, node, dims_)) {
        look(g, node.reads[0], node.makes[0]);
      } else if (joins_.contains(n)) {
        join(g, n);
      }
    }
    Homes homes;
    homes.in_memory = in_memory_;
    for (size_t v = 0; v < next_.size(); ++v) homes.values.push_back(home(static_cast<int>(v)));
    return homes;
  }

 private:
  GraphValue& value(int v) { return graph_.values[static_cast<size_t>(v)]; }
  const GraphValue& value(int v) const { return graph_.values[static_cast<size_t>(v)]; }

  /// Joins that are groups by themselves. What several of them read goes to the largest one.
  void find_joins() {
    std::map<int, double> largest;
    for (const std::vector<int>& nodes : groups_) {
      if (nodes.size() != 1) continue;
      const GraphNode& node = graph_.nodes[static_cast<size_t>(nodes[0])];
      auto join = join_of(graph_, node, dims_);
      if (!join) continue;
      const double size = most_elements(node.makes[0]);
      for (const int v : join->parts) {
        const auto [at, fresh] = largest.emplace(v, size);
        if (!fresh && at->second > size) continue;
        at->second = size;
        wanted_by_[v] = nodes[0];
      }
      joins_.emplace(nodes[0], *std::move(join));
    }
  }

  double most_elements(int v) const {
    double all = 1;
    for (const ir::Expr& e : value(v).shape) {
      const auto range = range_of_extent(with_fixed_dims(e, dims_), dims_);
      if (range) all *= static_cast<double>(range->hi);
    }
    return all;
  }

  Home home(int v) const {
    Home out{v, {}};
    while (next_[static_cast<size_t>(out.of)] != out.of) {
      const ir::Expr& at = at_[static_cast<size_t>(out.of)];
      if (at) out.at = out.at ? out.at + at : at;
      out.of = next_[static_cast<size_t>(out.of)];
    }
    return out;
  }

  /// May it lie anywhere?
  bool is_free(int v) const {
    return value(v).kind == GraphValue::kMade && !value(v).output &&
           next_[static_cast<size_t>(v)] == v;
  }

  void move(int v, int to, ir::Expr at) {
    next_[static_cast<size_t>(v)] = to;
    at_[static_cast<size_t>(v)] = std::move(at);
    ++lodgers_[static_cast<size_t>(to)];
  }
  void move_back(int v) {
    --lodgers_[static_cast<size_t>(next_[static_cast<size_t>(v)])];
    next_[static_cast<size_t>(v)] = v;
    at_[static_cast<size_t>(v)] = {};
    value(v).strides.clear();
  }

  /// Group `g` has nothing to do where `moved` lie now. False, and all is as before, where that
  /// brings rows that a kernel writes between others that it touches.
  bool settle(size_t g, const std::vector<int>& moved) {
    in_memory_[g] = true;
    if (!between_one_another(home(moved[0]).of)) return true;
    for (const int v : moved) move_back(v);
    in_memory_[g] = false;
    return false;
  }

  bool look(size_t g, int from, int made) {
    if (value(from).kind == GraphValue::kConstant) return false;
    if (!value(from).strides.empty() || !value(made).strides.empty()) return false;
    const int moved = is_free(made) ? made : is_free(from) ? from : -1;
    if (moved < 0) return false;
    move(moved, moved == made ? from : made, {});
    return settle(g, {moved});
  }

  ir::Expr extent(int v, size_t d) const { return with_fixed_dims(value(v).shape[d], dims_); }

  /// Of a dim that always has one value: that.
  std::optional<int64_t> number(const ir::Expr& e) const {
    if (e->op == ir::Op::kInt) return e->i;
    return {};
  }

  /// Dims as they lie in memory, the outermost first.
  std::vector<size_t> order(int v) const {
    std::vector<size_t> out(value(v).shape.size());
    std::iota(out.begin(), out.end(), size_t{0});
    for (size_t i = 0; i < value(v).order.size(); ++i) {
      out[i] = static_cast<size_t>(value(v).order[i]);
    }
    return out;
  }

  /// Elements between neighbours along each dim, as expressions of the graph's dims.
  std::vector<ir::Expr> strides(int v) const {
    std::vector<ir::Expr> out(value(v).shape.size());
    ir::Expr step = ir::make_int(1);
    const std::vector<size_t> dims = order(v);
    for (size_t i = dims.size(); i-- > 0;) {
      out[dims[i]] = step;
      step = with_fixed_dims(step * extent(v, dims[i]), dims_);
    }
    for (size_t d = 0; d < value(v).strides.size(); ++d) {
      out[d] = ir::make_int(value(v).strides[d]);
    }
    return out;
  }

  /// May it be made before data tell where it is to lie, or how large all is? A dim that it has is
  /// told before.
  bool is_told_later(int v, int whole, const ir::Expr& at) const {
    const auto named = [&](const std::vector<ir::Expr>& shape, const std::string& dim) {
      return std::any_of(shape.begin(), shape.end(),
                         [&](const ir::Expr& e) { return names_dim(e, dim); });
    };
    return std::any_of(graph_.data_dims.begin(), graph_.data_dims.end(), [&](const DataDim& d) {
      return (named(value(whole).shape, d.name) || names_dim(at, d.name)) &&
             !named(value(v).shape, d.name);
    });
  }

  /// Has it no elements, whatever calls say?
  bool has_none(int v) const {
    for (size_t d = 0; d < value(v).shape.size(); ++d) {
      if (number(extent(v, d)) == 0) return true;
    }
    return false;
  }

  /// A part of a join, where it would lie.
  struct Part {
    int value = -1;
    ir::Expr at;
    std::vector<int64_t> strides;  ///< none: dense
  };

  /// Nothing where the part cannot lie there.
  std::optional<Part> part(int v, int whole, size_t dim, ir::Expr first) const {
    const GraphValue& made = value(v);
    if (!is_free(v) || is_packed(made.type) || made.order != value(whole).order) return {};
    const std::vector<ir::Expr> there = strides(whole), dense = strides(v);
    Part out{v, with_fixed_dims(first * there[dim], dims_), {}};
    if (is_told_later(v, whole, out.at) || has_none(whole)) return {};
    bool same = true;
    for (size_t d = 0; d < there.size(); ++d) {
      if (number(extent(v, d)) == 1) continue;
      same &= ir::print(there[d]) == ir::print(dense[d]);
    }
    if (same) return out;
    if (lodgers_[static_cast<size_t>(v)] > 0 || of_host_.contains(v)) return {};
    for (const ir::Expr& stride : there) {
      const auto elements = number(stride);
      if (!elements) return {};
      out.strides.push_back(*elements);
    }
    const auto along = number(extent(v, dim));
    const bool short_row = along && *along * out.strides[dim] * size_of(made.type) < kLeastRow;
    if (short_row) return {};
    return out;
  }

  bool join(size_t g, int n) {
    const Join& join = joins_.at(n);
    const int whole = graph_.nodes[static_cast<size_t>(n)].makes[0];
    std::vector<Part> parts;
    ir::Expr first = ir::make_int(0);
    for (const int v : join.parts) {
      auto p = wanted_by_.at(v) == n ? part(v, whole, join.dim, first) : std::nullopt;
      if (!p) return false;
      parts.push_back(*std::move(p));
      first = with_fixed_dims(first + extent(v, join.dim), dims_);
    }
    for (Part& p : parts) {
      value(p.value).strides = std::move(p.strides);
      move(p.value, whole, std::move(p.at));
    }
    return settle(g, join.parts);
  }

  /// Where rows lie apart in the memory of `root`: does a kernel write some and touch others? Calls
  /// take such tensors for overlapping.
  bool between_one_another(int root) const {
    std::vector<bool> there(next_.size());
    bool apart = false;
    for (size_t v = 0; v < next_.size(); ++v) {
      there[v] = home(static_cast<int>(v)).of == root;
      apart |= there[v] && !graph_.values[v].strides.empty();
    }
    if (!apart) return false;
    for (size_t g = 0; g < groups_.size(); ++g) {
      if (in_memory_[g]) continue;
      std::set<int> touched;
      bool writes = false;
      for (const int n : groups_[g]) {
        const GraphNode& node = graph_.nodes[static_cast<size_t>(n)];
        for (const auto* side : {&node.reads, &node.makes}) {
          for (const int v : *side) {
            if (v < 0 || !there[static_cast<size_t>(v)]) continue;
            touched.insert(v);
            writes |= side == &node.makes;
          }
        }
      }
      if (writes && touched.size() > 1) return true;
    }
    return false;
  }

  Graph& graph_;
  const GraphGroups& groups_;
  const std::vector<ir::Dim>& dims_;
  std::map<int, Join> joins_;     ///< by their nodes
  std::map<int, int> wanted_by_;  ///< the join that a value is to be made in
  std::vector<int> next_;         ///< per value: in whose memory it lies, perhaps itself
  std::vector<ir::Expr> at_;      ///< and where
  std::set<int> of_host_;         ///< functions of the host take them densely
  std::vector<int> lodgers_;      ///< per value: how many lie in its memory
  std::vector<bool> in_memory_;   ///< per group, see Homes
};

}  // namespace

Homes find_homes(Graph& graph, const GraphGroups& groups, const std::vector<ir::Dim>& dims,
                 bool joins) {
  return HomeFinder(graph, groups, dims).run(joins);
}

}  // namespace hone::ops
