// SPDX-License-Identifier: Apache-2.0
#include "ops/graph/join.h"

#include <algorithm>

#include "ops/gradient/terms.h"
#include "ops/graph/places.h"

namespace hone::ops {
namespace {

/// Reads the choice among arguments on the right side of a statement.
class JoinReader {
 public:
  JoinReader(const Graph& graph, const GraphNode& node, const std::vector<ir::Dim>& dims)
      : graph_(graph),
        node_(node),
        op_(*node.op.definition),
        statement_(op_.statements[0]),
        places_(node, dims) {
    places_.define_loops(result().shape);
  }

  std::optional<Join> run() {
    const std::optional<size_t> dim = chosen_dim();
    if (!dim) return {};
    join_.dim = *dim;
    if (!read(statement_.value, 0, places_.extent(result().shape[*dim]))) return {};
    if (join_.parts.size() != node_.reads.size()) return {};
    return std::move(join_);
  }

 private:
  const GraphValue& value(int v) const { return graph_.values[static_cast<size_t>(v)]; }
  const GraphValue& result() const { return value(node_.makes[0]); }
  const std::string& index() const { return statement_.indices[join_.dim].name; }

  /// The index whose places tell which argument is read.
  std::optional<size_t> chosen_dim() const {
    const Term& t = statement_.value;
    if (!is_choice(t) || t.args[0].args[0].kind != Term::kName) return {};
    for (size_t d = 0; d < statement_.indices.size(); ++d) {
      if (statement_.indices[d].name == t.args[0].args[0].name) return d;
    }
    return {};
  }

  static bool is_choice(const Term& t) {
    if (t.kind != Term::kCall || t.name != "select" || t.args[0].kind != Term::kInfix) return false;
    return t.args[0].infix == Infix::kLt || t.args[0].infix == Infix::kGe;
  }

  /// Whether `t` is arguments one behind the other from `begin` to `end` along the dim.
  bool read(const Term& t, const ir::Poly& begin, const ir::Poly& end) {
    if (t.kind == Term::kAccess) return take(t, begin, end);
    if (!is_choice(t)) return false;
    const Term& condition = t.args[0];
    if (condition.args[0].kind != Term::kName || condition.args[0].name != index()) return false;
    const auto border = places_.index(condition.args[1]);
    if (!border || border->mentions_loop(static_cast<int>(join_.dim))) return false;
    const bool below = condition.infix == Infix::kLt;
    return read(t.args[below ? 1 : 2], begin, *border) && read(t.args[below ? 2 : 1], *border, end);
  }

  /// An argument that stands whole from `begin` to `end`. Its `else` is never read there.
  bool take(const Term& access, const ir::Poly& begin, const ir::Poly& end) {
    const int v = argument(access.name);
    if (v < 0 || std::find(join_.parts.begin(), join_.parts.end(), v) != join_.parts.end()) {
      return false;
    }
    const std::vector<ir::Expr>& shape = value(v).shape;
    if (shape.size() != result().shape.size()) return false;
    for (size_t d = 0; d < shape.size(); ++d) {
      const bool along = d == join_.dim;
      const ir::Poly from = along ? begin : 0;
      const auto at = places_.index(access.args[d]);
      const auto own = places_.index(name_term(statement_.indices[d].name));
      if (!at || !own || at->wraps() || !(*at + from == *own)) return false;
      const ir::Poly wanted = along ? end - begin : places_.extent(result().shape[d]);
      if (!(places_.extent(shape[d]) == wanted)) return false;
    }
    join_.parts.push_back(v);
    return true;
  }

  /// The value that a tensor of the op is, if it has the type of the result; else -1.
  int argument(const std::string& name) const {
    size_t tensor = 0;
    for (const Argument& a : op_.args) {
      if (a.role != ir::Role::kInput || a.scalar) continue;
      const int v = node_.reads[tensor++];
      if (a.name == name) return value(v).type == result().type ? v : -1;
    }
    return -1;
  }

  const Graph& graph_;
  const GraphNode& node_;
  const Definition& op_;
  const Statement& statement_;
  Places places_;
  Join join_;
};

}  // namespace

std::optional<Join> join_of(const Graph& graph, const GraphNode& node,
                            const std::vector<ir::Dim>& dims) {
  const Definition& op = *node.op.definition;
  if (!node.plain || node.makes.size() != 1 || node.makes[0] < 0) return {};
  if (op.statements.size() != 1) return {};
  const Statement& s = op.statements[0];
  const bool casts = !s.type.empty() && s.type != op.arg(s.name)->type;
  if (s.scatters() || s.assign != Assign::kSet || !s.where.empty() || casts) return {};
  return JoinReader(graph, node, dims).run();
}

}  // namespace hone::ops
