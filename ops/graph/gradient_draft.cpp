// SPDX-License-Identifier: Apache-2.0
#include "ops/graph/gradient_draft.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>
#include <utility>

#include "jit/ir/spelling.h"
#include "ops/gradient/gradient.h"
#include "ops/gradient/index_terms.h"
#include "ops/gradient/terms.h"
#include "ops/replaced_dims.h"
#include "ops/stock.h"
#include "ops/uses/written_tensors.h"

namespace hone::ops {
namespace {

/// Characters of names that are kept in names made from them.
/// Chosen: with what is added they stay within the language's 64 (not measured).
constexpr size_t kMostWanted = 48;

/// The text of an op under one name.
std::string nameless(const Op& op) {
  Definition d = *op.definition;
  d.name = "op";
  return print(d);
}

ir::Expr in_graph(const Term& extent, const std::map<std::string, ir::Expr>& numbers) {
  const ir::Expr out = replaced_dims(extent_expr(extent), [&](const std::string& name) {
    const auto at = numbers.find(name);
    return at == numbers.end() ? ir::Expr() : at->second;
  });
  return out ? tidy(out) : ir::make_int(0);
}

}  // namespace

GradientDraft::GradientDraft(const Graph& graph, const Library* library)
    : graph_(graph),
      library_(library),
      parts_(graph.nodes.size()),
      cut_(graph.nodes.size()),
      whole_(graph.nodes.size()) {
  for (const GraphValue& v : graph.values) {
    values_.push_back({v.name, v.name, v.type, v.shape, v.kind != GraphValue::kMade});
  }
}

int GradientDraft::add_value(const std::string& wanted, DType type, std::vector<ir::Expr> shape) {
  values_.push_back({"", wanted, type, std::move(shape), false});
  return static_cast<int>(values_.size()) - 1;
}

/// An op among those of the text, by a name that no other has.
Op GradientDraft::own_op(const Op& op) {
  const std::string key = nameless(op);
  const auto known = ops_.find(key);
  if (known != ops_.end()) return known->second;
  Definition d = *op.definition;
  const std::string base = d.name.substr(0, kMostWanted);
  const auto taken = [&](const std::string& name) {
    return graph_.own.find(name) || find_stock(name) || (library_ && library_->find(name)) ||
           std::any_of(order_.begin(), order_.end(),
                       [&](const Op& other) { return other.name() == name; });
  };
  d.name = base;
  for (int i = 2; taken(d.name); ++i) d.name = fmt::format("{}_{}", base, i);
  auto named = Op::parse(print(d));
  const Op& out = order_.emplace_back(named ? *named : op);
  ops_.emplace(key, out);
  return out;
}

void GradientDraft::take_apart(int n, const WrittenNode& node) {
  const std::vector<Piece> pieces = pieces_of(node.op);
  Names names{node.values, &node, ""};
  for (const int v : graph_.nodes[static_cast<size_t>(n)].makes) {
    if (v >= 0 && names.prefix.empty()) names.prefix = value(v).name + "_";
  }
  for (const Piece& piece : pieces) add_piece(piece, names, parts_[static_cast<size_t>(n)], true);
}

void GradientDraft::add(const Op& op, Names& names) {
  for (const Piece& piece : pieces_of(op)) {
    if (is_identity(piece.op)) {
      names.values[piece.makes[0]] = names.values.at(piece.takes[0]);
    } else {
      add_piece(piece, names, nodes_, false);
    }
  }
}

/// `known`: what the piece makes has values already, where `names` has it.
void GradientDraft::add_piece(const Piece& piece, Names& names, std::vector<Node>& to, bool known) {
  Node node{piece.op, {}, {}, {}, {}};
  const Definition& d = *piece.op.definition;
  std::string key = nameless(piece.op);
  for (size_t i = 0; i < piece.takes.size(); ++i) {
    const auto scalar = names.node->scalars.find(piece.takes[i]);
    const bool is_scalar = scalar != names.node->scalars.end();
    node.reads.push_back(is_scalar ? -1 : names.values.at(piece.takes[i]));
    node.scalars.push_back(is_scalar ? scalar->second : Term());
    key += is_scalar ? "\n" + print(scalar->second) : fmt::format("\n{}", node.reads.back());
  }
  for (const Given& g : names.node->given) {
    if (!d.param(g.name)) continue;
    node.given.push_back(g);
    key += fmt::format("\n{}={}", g.name, print(g.value));
  }
  std::map<std::string, ir::Expr> numbers = names.node->numbers;
  for (const auto& [name, extent] : piece.extents) {
    numbers[name] = in_graph(extent, names.node->numbers);
  }
  // Shapes that no argument tells differ between uses of one op.
  std::vector<std::vector<ir::Expr>> shapes;
  for (const std::string& made : piece.makes) {
    const auto at = names.values.find(made);
    const bool there = known && at != names.values.end() && at->second >= 0;
    node.makes.push_back(there ? at->second : -1);
    shapes.emplace_back();
    if (there) {
      shapes.back() = value(at->second).shape;
    } else {
      for (const Term& t : d.arg(made)->shape) shapes.back().push_back(in_graph(t, numbers));
    }
    key += "\n";
    for (const ir::Expr& e : shapes.back()) key += ir::print(e) + ",";
  }
  const auto there = known_.find(key);
  if (there != known_.end() && !known) {
    for (size_t i = 0; i < piece.makes.size(); ++i) names.values[piece.makes[i]] = there->second[i];
    return;
  }
  for (size_t i = 0; i < piece.makes.size(); ++i) {
    if (node.makes[i] >= 0) continue;
    const std::string& made = piece.makes[i];
    node.makes[i] =
        add_value(names.prefix + made, *dtype_named(d.arg(made)->type), std::move(shapes[i]));
    names.values[made] = node.makes[i];
  }
  known_.emplace(std::move(key), node.makes);
  to.push_back(std::move(node));
}

int GradientDraft::add_node(const Op& op, const std::vector<int>& reads, int like,
                            const std::string& wanted) {
  Node node{op, {}, reads, std::vector<Term>(reads.size()), {}};
  node.makes = {add_value(wanted, value(like).type, value(like).shape)};
  nodes_.push_back(std::move(node));
  return nodes_.back().makes[0];
}

int GradientDraft::add_input(const std::string& name, int like) {
  const int v = add_value(name, value(like).type, value(like).shape);
  values_.back().name = name;
  values_.back().given = true;
  inputs_.push_back(v);
  return v;
}

void GradientDraft::add_output(int v, const std::string& name) {
  values_[static_cast<size_t>(v)].name = name;
  outputs_.push_back(v);
}

bool GradientDraft::has_name(const std::string& name) const {
  return std::find(graph_.dims.begin(), graph_.dims.end(), name) != graph_.dims.end() ||
         std::any_of(values_.begin(), values_.end(),
                     [&](const Value& v) { return v.name == name; });
}

void GradientDraft::mark_reads(const Node& node) {
  for (const int v : node.reads) {
    if (v >= 0) live_[static_cast<size_t>(v)] = true;
  }
}

/// Marks nodes that make what is live, the last first, and what they read.
bool GradientDraft::mark(std::vector<Node>& nodes) {
  bool any = false;
  for (auto node = nodes.rbegin(); node != nodes.rend(); ++node) {
    node->live =
        std::any_of(node->makes.begin(), node->makes.end(), [&](int v) { return is_live(v); });
    any |= node->live;
    if (node->live) mark_reads(*node);
  }
  return any;
}

void GradientDraft::find_live() {
  live_.assign(values_.size(), false);
  for (const int v : outputs_) live_[static_cast<size_t>(v)] = true;
  mark(nodes_);
  for (size_t n = graph_.nodes.size(); n-- > 0;) {
    const GraphNode& node = graph_.nodes[n];
    const auto is_inside = [&](const Node& part) {
      return std::any_of(part.makes.begin(), part.makes.end(), [&](int v) {
        return is_live(v) && static_cast<size_t>(v) >= graph_.values.size();
      });
    };
    cut_[n] = std::any_of(parts_[n].begin(), parts_[n].end(), is_inside);
    whole_[n] = !cut_[n] && std::any_of(node.makes.begin(), node.makes.end(),
                                        [&](int v) { return is_live(v); });
    if (cut_[n]) mark(parts_[n]);
    for (const int v : node.reads) {
      if (whole_[n]) live_[static_cast<size_t>(v)] = true;
    }
  }
}

std::string GradientDraft::fresh(const std::string& wanted) const {
  const std::string base = wanted.substr(0, kMostWanted);
  std::string name = base;
  for (int i = 2; has_name(name); ++i) name = fmt::format("{}_{}", base, i);
  return name;
}

void GradientDraft::name_values() {
  for (size_t v = 0; v < values_.size(); ++v) {
    if (live_[v] && values_[v].name.empty()) values_[v].name = fresh(values_[v].wanted);
  }
}

/// Do the arguments of a node not say how long each dim of a result is?
bool GradientDraft::is_stated(const Node& node, size_t result) const {
  const Definition& d = *node.op.definition;
  std::set<std::string> told;
  std::vector<const Argument*> results;
  for (const Argument& a : d.args) {
    if (a.role == ir::Role::kOutput) results.push_back(&a);
    for (const Term& t : a.shape) {
      if (a.role != ir::Role::kOutput && t.kind == Term::kName) told.insert(t.name);
    }
  }
  return std::any_of(results[result]->shape.begin(), results[result]->shape.end(),
                     [&](const Term& extent) {
                       return any_part(extent, [&](const Term& t) {
                         return t.kind == Term::kName && !d.param(t.name) && !told.contains(t.name);
                       });
                     });
}

std::string GradientDraft::left_of(const Node& node, size_t result) const {
  const int v = node.makes[result];
  if (!is_live(v)) return "_";
  if (!is_stated(node, result)) return value(v).name;
  std::string indices;
  for (size_t i = 0; i < value(v).shape.size(); ++i) {
    std::string index = fmt::format("i{}", i);
    while (has_name(index)) index += '_';
    indices += fmt::format("{}{} in 0..{}", i > 0 ? "," : "", index, ir::print(value(v).shape[i]));
  }
  return fmt::format("{}[{}]", value(v).name, indices);
}

std::string GradientDraft::text_of(const Node& node) const {
  std::vector<std::string> lefts, args, given;
  for (size_t i = 0; i < node.makes.size(); ++i) lefts.push_back(left_of(node, i));
  for (size_t i = 0; i < node.reads.size(); ++i) {
    args.push_back(node.reads[i] < 0 ? print(node.scalars[i]) : value(node.reads[i]).name);
  }
  for (const Given& g : node.given) given.push_back(g.name + "=" + print(g.value));
  return fmt::format("{} = {}{}({})", fmt::join(lefts, ", "), node.op.name(),
                     given.empty() ? "" : fmt::format("<{}>", fmt::join(given, ", ")),
                     fmt::join(args, ", "));
}

/// A node that stands as it is, without what nothing reads any more.
std::string GradientDraft::text_of(const GraphNode& node) const {
  Statement use = node.use;
  size_t next = 0;
  use.omitted = !is_live(node.makes[next++]);
  for (Left& left : use.also) left.omitted = !is_live(node.makes[next++]);
  return print(use);
}

/// The ops that nodes name: those of the graph's own text, then those made here.
std::string GradientDraft::ops_text() const {
  std::string out;
  std::set<std::string> named;
  for (size_t n = 0; n < graph_.nodes.size(); ++n) {
    if (whole_[n]) named.insert(graph_.nodes[n].op.name());
    for (const Node& part : parts_[n]) {
      if (cut_[n] && part.live) named.insert(part.op.name());
    }
  }
  for (const Node& node : nodes_) {
    if (node.live) named.insert(node.op.name());
  }
  for (const Op& op : graph_.own.ops) {
    if (named.contains(op.name())) out += lines_of_op(op);
  }
  for (const Op& op : order_) {
    if (named.contains(op.name())) out += lines_of_op(op);
  }
  return out;
}

std::string GradientDraft::arguments_text() const {
  std::vector<std::string> out;
  const auto add = [&](int v, bool constant) {
    std::vector<std::string> shape;
    for (const ir::Expr& e : value(v).shape) shape.push_back(ir::print(e));
    out.push_back(fmt::format("{}{}: {}[{}]", constant ? "const " : "", value(v).name,
                              name_of(value(v).type), fmt::join(shape, ",")));
  };
  for (size_t v = 0; v < graph_.values.size(); ++v) {
    const GraphValue& from = graph_.values[v];
    const bool changes =
        std::find(as_inputs_.begin(), as_inputs_.end(), static_cast<int>(v)) != as_inputs_.end();
    const bool constant = from.kind == GraphValue::kConstant && !changes;
    if (from.kind == GraphValue::kMade || (constant && !live_[v])) continue;
    add(static_cast<int>(v), constant);
  }
  for (const int v : inputs_) add(v, false);
  return fmt::format("{}", fmt::join(out, ", "));
}

std::string GradientDraft::text(const std::string& name) {
  find_live();
  // Ops in the order in which nodes name them.
  for (size_t n = 0; n < graph_.nodes.size(); ++n) {
    for (Node& part : parts_[n]) {
      if (cut_[n] && part.live) part.op = own_op(part.op);
    }
  }
  for (Node& node : nodes_) {
    if (node.live) node.op = own_op(node.op);
  }
  name_values();
  std::vector<std::string> made;
  for (const int v : outputs_) made.push_back(value(v).name);
  std::string out = ops_text();
  out += fmt::format("graph {}({}) -> ({}) {{\n", name, arguments_text(), fmt::join(made, ", "));
  for (size_t n = 0; n < graph_.nodes.size(); ++n) {
    if (whole_[n]) out += "  " + text_of(graph_.nodes[n]) + "\n";
    for (const Node& part : parts_[n]) {
      if (cut_[n] && part.live) out += "  " + text_of(part) + "\n";
    }
  }
  for (const Node& node : nodes_) {
    if (node.live) out += "  " + text_of(node) + "\n";
  }
  return out + "}\n";
}

}  // namespace hone::ops
