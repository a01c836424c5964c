// SPDX-License-Identifier: Apache-2.0
#include "ops/graph/op_draft.h"

#include <fmt/format.h>

#include <algorithm>

#include "ops/gradient/index_terms.h"
#include "ops/gradient/terms.h"
#include "ops/graph/byte_factors.h"
#include "ops/replaced_dims.h"
#include "ops/stock.h"

namespace hone::ops {
namespace {

/// Characters of an op's name that are kept in names made from it.
/// Chosen: with what is added they stay within the language's 64 (not measured).
constexpr size_t kMostBase = 40;

}  // namespace

RewrittenGraph::RewrittenGraph(Graph given)
    : graph(std::move(given)),
      constant(graph.values.size()),
      maker(graph.values.size(), -1),
      from(std::move(graph.nodes)) {
  for (size_t v = 0; v < graph.values.size(); ++v) {
    constant[v] = graph.values[v].kind == GraphValue::kConstant;
  }
  for (size_t n = 0; n < from.size(); ++n) {
    for (const int v : from[n].makes) {
      if (v >= 0) maker[static_cast<size_t>(v)] = static_cast<int>(n);
    }
  }
}

std::optional<Op> RewrittenGraph::own_op(Definition d, const std::string& base) {
  d.name = "made";
  const std::string key = print(d);
  const auto known = op_of.find(key);
  if (known != op_of.end()) return known->second;
  d.name = base.substr(0, kMostBase) + "_of_bytes";
  for (int i = 2; graph.own.find(d.name) || find_stock(d.name); ++i) {
    d.name = fmt::format("{}_of_bytes_{}", base.substr(0, kMostBase), i);
  }
  auto op = Op::parse(print(d));
  if (!op) return {};
  graph.own.ops.push_back(*op);
  return op_of.emplace(key, *std::move(op)).first->second;
}

int RewrittenGraph::add_value(DType type, std::vector<ir::Expr> shape) {
  GraphValue v;
  for (size_t i = graph.values.size(); v.name.empty() || graph.places.contains(v.name); ++i) {
    v.name = fmt::format("bytes_{}", i);
  }
  v.kind = GraphValue::kMade;
  v.type = type;
  v.shape = std::move(shape);
  graph.places[v.name] = static_cast<int>(graph.values.size());
  graph.values.push_back(std::move(v));
  constant.push_back(true);
  maker.push_back(-1);
  return static_cast<int>(graph.values.size()) - 1;
}

OpDraft::OpDraft(RewrittenGraph& graph, const GraphNode& node)
    : d(with_types(node)), graph_(&graph), node_(&node) {
  size_t next = 0;
  for (const Argument& a : d.args) {
    used_.insert(a.name);
    if (a.role == ir::Role::kInput && !a.scalar) values_[a.name] = node.reads[next++];
    for (const Term& t : a.shape) use_names(t);
  }
  for (const Statement& s : d.statements) {
    used_.insert(s.name);
    for (const Range& r : s.indices) used_.insert(r.name);
    use_names(s.value);
  }
  for (const Param& p : d.params) used_.insert(p.name);
}

int OpDraft::value_of(const std::string& name) const {
  const auto at = values_.find(name);
  return at == values_.end() ? -1 : at->second;
}

void OpDraft::use_names(const Term& t) {
  any_part(t, [&](const Term& part) {
    used_.insert(part.name);
    for (const Range& r : part.ranges) used_.insert(r.name);
    return false;
  });
}

std::string OpDraft::fresh(const std::string& wanted) {
  std::string name = wanted;
  for (int i = 2; !used_.insert(name).second; ++i) name = fmt::format("{}{}", wanted, i);
  return name;
}

std::string OpDraft::input(int v, const std::vector<Term>& shape, const std::string& wanted) {
  for (const Argument& a : d.args) {
    const auto at = values_.find(a.name);
    if (at == values_.end() || at->second != v || a.shape.size() != shape.size()) continue;
    if (std::equal(shape.begin(), shape.end(), a.shape.begin(), same)) return a.name;
  }
  Argument a;
  a.name = fresh(wanted);
  a.type = std::string(name_of(graph_->value(v).type));
  a.shape = shape;
  values_[a.name] = v;
  const auto at = std::find_if(d.args.begin(), d.args.end(),
                               [](const Argument& b) { return b.role == ir::Role::kOutput; });
  d.args.insert(at, a);
  return a.name;
}

ir::Expr OpDraft::extent(const Term& t) const {
  const ir::Expr e = index_expr(d, t);
  if (!e) return {};
  // Integer parameters are numbers like dims.
  const ir::Expr in_dims = ir::rewrite(e, [](const ir::Expr& x) {
    return x->op == ir::Op::kVar ? ir::make_dim(x->name) : ir::Expr();
  });
  const ir::Expr out = replaced_dims(in_dims, [&](const std::string& of_op) {
    for (const auto& [name, value] : node_->numbers) {
      if (name == of_op) return value;
    }
    return ir::Expr();
  });
  return out ? tidy(out) : ir::Expr();
}

/// What a node reads and takes, by the arguments of its op; false where a number is unknown.
bool OpDraft::finish(GraphNode& out, const Op& op, const Definition& of) const {
  out.op = op;
  std::vector<Term> given;
  for (const Argument& a : of.args) {
    if (a.role != ir::Role::kInput) continue;
    const auto at = values_.find(a.name);
    if (at == values_.end()) return false;
    given.push_back(name_term(graph_->value(at->second).name));
    out.reads.push_back(at->second);
  }
  out.use.value = call_term(op.name(), std::move(given));
  std::vector<std::string> names = op.definition->dims;
  for (const Param& p : op.definition->params) names.push_back(p.name);
  for (const std::string& name : names) {
    const auto at = std::find_if(node_->numbers.begin(), node_->numbers.end(),
                                 [&](const auto& number) { return number.first == name; });
    if (at == node_->numbers.end()) return false;
    out.numbers.push_back(*at);
  }
  return true;
}

std::optional<Term> OpDraft::extent_by(const Term& t, const std::string& name) const {
  std::optional<Term> out;
  any_part(t, [&](const Term& part) {
    const Argument* a = part.kind == Term::kAccess ? d.arg(part.name) : nullptr;
    if (!a || part.guarded) return false;
    for (size_t i = 0; i < part.args.size(); ++i) {
      if (part.args[i].kind == Term::kName && part.args[i].name == name) out = a->shape[i];
    }
    return out.has_value();
  });
  return out;
}

Term OpDraft::constant_part(const Statement& s, const Term& part, const char* type) {
  Definition own;
  std::set<std::string> inside;
  std::vector<Term> accesses;
  bool plain = true;
  any_part(part, [&](const Term& t) {
    for (const Range& r : t.ranges) inside.insert(r.name);
    if (t.kind != Term::kAccess) return false;
    const auto at = values_.find(t.name);
    plain &= !t.guarded && at != values_.end() && graph_->constant[static_cast<size_t>(at->second)];
    accesses.push_back(t);
    return false;
  });
  if (!plain || accesses.empty() || part.kind == Term::kAccess) return part;
  for (const Argument& a : d.args) {
    const auto read = [&](const Term& t) { return t.name == a.name; };
    if (std::any_of(accesses.begin(), accesses.end(), read)) own.args.push_back(a);
  }
  Argument result;
  result.name = fresh("made");
  result.type = type;
  result.role = ir::Role::kOutput;
  Statement made;
  made.name = result.name;
  made.value = part;
  std::vector<Term> at;
  std::vector<ir::Expr> shape;
  for (const Range& r : s.indices) {
    if (inside.contains(r.name) || !mentions(part, r.name)) continue;
    const auto length = extent_by(part, r.name);
    shape.push_back(length ? extent(*length) : ir::Expr());
    if (!shape.back()) return part;
    Range index;
    index.name = r.name;
    made.indices.push_back(index);
    result.shape.push_back(*length);
    at.push_back(name_term(r.name));
  }
  own.args.push_back(result);
  own.statements.push_back(made);
  const auto op = graph_->own_op(own, node_->op.name() + "_part");
  GraphNode node;
  if (!op || !finish(node, *op, own)) return part;
  const int v = graph_->add_value(*dtype_named(type), std::move(shape));
  node.use.name = graph_->value(v).name;
  for (size_t i = 0; i < made.indices.size(); ++i) {
    Range index;
    index.name = fmt::format("i{}", i);
    node.use.indices.push_back(index);
  }
  node.makes = {v};
  before.push_back(std::move(node));
  return access_term(input(v, result.shape, "part"), std::move(at));
}

std::optional<GraphNode> OpDraft::node() const {
  const auto op = graph_->own_op(d, node_->op.name());
  GraphNode out;
  if (!op || !finish(out, *op, d)) return {};
  out.use.also = node_->use.also;
  static_cast<Left&>(out.use) = node_->use;
  out.use.given = node_->use.given;
  std::erase_if(out.use.given,
                [](const Given& g) { return dtype_named(g.value.name).has_value(); });
  out.makes = node_->makes;
  return out;
}

}  // namespace hone::ops
