// SPDX-License-Identifier: Apache-2.0
#include "ops/graph/group.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "jit/ir/spelling.h"
#include "ops/definition.h"
#include "ops/foreign.h"
#include "ops/gradient/index_terms.h"
#include "ops/gradient/terms.h"
#include "ops/graph/extent_range.h"
#include "ops/graph/orders.h"
#include "ops/replaced_dims.h"
#include "ops/uses/known_ops.h"
#include "ops/uses/written_tensors.h"

namespace hone::ops {
namespace {

using ir::Expr;

/// `M=128`, or `M=1..64` where calls tell it.
std::string binding_text(const std::string& name, const ir::IntegerRange& range) {
  if (range.lo == range.hi) return fmt::format(" {}={}", name, range.lo);
  return fmt::format(" {}={}..{}", name, range.lo, range.hi);
}

/// What a group reads from outside, and what others need of it.
class Borders {
 public:
  Borders(const Graph& graph, const std::vector<int>& nodes) {
    const std::set<int> inside(nodes.begin(), nodes.end());
    std::set<int> known;
    for (const int n : nodes) {
      const GraphNode& node = graph.nodes[static_cast<size_t>(n)];
      for (const int v : node.reads) {
        if (known.insert(v).second) reads.push_back(v);
      }
      for (const int v : node.makes) {
        if (v < 0) continue;
        known.insert(v);
        const GraphValue& value = graph.values[static_cast<size_t>(v)];
        const bool leaves = value.output || std::any_of(value.readers.begin(), value.readers.end(),
                                                        [&](int r) { return !inside.contains(r); });
        (leaves ? makes : within).push_back(v);
      }
    }
  }

  std::vector<int> reads, makes, within;
};

/// Extents of a graph in the names of a group's dims. Where the group is `symbolic`, numbers have
/// names too, but those that its ops say.
class GroupDims {
 public:
  GroupDims(const std::vector<ir::Dim>& dims, bool symbolic) : dims_(dims), symbolic_(symbolic) {}

  /// Leaves the numbers that an op declares as they are, such as the taps of a window.
  void keep(const Definition& op) {
    for (const Argument& a : op.args) {
      for (const Term& extent : a.shape) {
        if (extent.kind == Term::kInt) said_.insert(extent.i);
      }
    }
  }

  /// Gives each dim of the graph that stands by itself a name, and each number where they have one.
  void name(const Expr& extent) {
    const Expr e = with_fixed_dims(extent, dims_);
    if (e->op == ir::Op::kDim || (e->op == ir::Op::kInt && !stays(e->i))) symbol(e);
  }

  /// The extent, where all that it is made of has a name; else a dim of its own.
  Expr renamed(const Expr& extent) {
    const Expr e = with_fixed_dims(extent, dims_);
    if (e->op == ir::Op::kInt && stays(e->i)) return e;
    if (e->op == ir::Op::kInt || e->op == ir::Op::kDim) return ir::make_dim(symbol(e));
    return knows(e) ? in_names(e) : ir::make_dim(symbol(e));
  }

  /// The end of a range that a statement says. Null where a dim or number in it has no name.
  std::optional<Term> end(const Term& t) const {
    if (t.kind != Term::kInt || stays(t.i)) return number(t);
    const auto at = names_.find(std::to_string(t.i));
    return at == names_.end() ? std::nullopt : std::optional(name_term(at->second));
  }

  /// A number that a statement says, `9`, `2*B`, or one made of its `indices`, which get other
  /// names. Null where a dim in it has no name.
  std::optional<Term> number(const Term& t,
                             const std::map<std::string, std::string>& indices = {}) const {
    bool known = true;
    const Term out = replaced(t, [&](const Term& part) -> std::optional<Term> {
      if (part.kind != Term::kName) return {};
      if (const auto index = indices.find(part.name); index != indices.end()) {
        return name_term(index->second);
      }
      const Expr e = with_fixed_dims(ir::make_dim(part.name), dims_);
      if (e->op == ir::Op::kInt) return whole_term(e->i);
      const auto at = names_.find(ir::print(e));
      const bool dim = std::any_of(dims_.begin(), dims_.end(),
                                   [&](const ir::Dim& d) { return d.name == part.name; });
      if (!dim) return {};
      known &= at != names_.end();
      return at == names_.end() ? part : name_term(at->second);
    });
    return known ? std::optional(out) : std::nullopt;
  }

  /// What the dims are, those without a range left out.
  std::vector<ir::Dim> ranges() const {
    std::vector<ir::Dim> out;
    for (const auto& [name, extent] : order_) {
      const auto range = range_of_extent(extent, dims_);
      if (range) out.push_back({name, std::max<int64_t>(range->lo, 0), range->hi, {}});
    }
    return out;
  }

  Expr fixed(const Expr& extent) const { return with_fixed_dims(extent, dims_); }

  /// The words that bind them; none where a dim of the graph has no range.
  std::optional<std::string> bindings() const {
    std::string text;
    for (const auto& [name, extent] : order_) {
      const auto range = range_of_extent(extent, dims_);
      if (!range) return {};
      text += binding_text(name, {std::max<int64_t>(range->lo, 0), range->hi});
    }
    return text;
  }

 private:
  bool stays(int64_t number) const { return !symbolic_ || said_.contains(number); }

  std::string symbol(const Expr& e) {
    const auto [at, fresh] = names_.emplace(ir::print(e), "");
    if (fresh) {
      at->second = fmt::format("D{}", order_.size() + 1);
      order_.emplace_back(at->second, e);
    }
    return at->second;
  }

  bool knows(const Expr& e) const {
    if (e->op == ir::Op::kDim) return names_.contains(ir::print(e));
    return std::all_of(e->args.begin(), e->args.end(), [&](const Expr& a) { return knows(a); });
  }

  Expr in_names(const Expr& e) const {
    return replaced_dims(e, [&](const std::string& name) { return ir::make_dim(names_.at(name)); });
  }

  const std::vector<ir::Dim>& dims_;
  bool symbolic_;
  std::set<int64_t> said_{0, 1};              ///< one element is told from several
  std::map<std::string, std::string> names_;  ///< by the text of an extent
  std::vector<std::pair<std::string, Expr>> order_;
};

/// The op of a group's statements, put together.
class GroupWriter {
 public:
  GroupWriter(const Graph& graph, const Group& group, const Borders& borders,
              const std::vector<ir::Dim>& dims, bool symbolic, GroupOps& ops)
      : graph_(graph), group_(group), borders_(borders), ops_(ops), dims_(dims, symbolic) {
    for (const int n : group.nodes) dims_.keep(*graph.nodes[static_cast<size_t>(n)].op.definition);
    name("x", borders.reads);
    name("y", borders.makes);
    name("t", borders.within);
  }

  Result<Problem> problem() {
    d_.name = "fused";
    d_.graph = true;
    for (const int v : borders_.reads) {
      for (const Expr& e : value(v).shape) dims_.name(e);
    }
    for (const int v : borders_.reads) d_.args.push_back(argument(v));
    for (const int n : group_.nodes) {
      if (!add(graph_.nodes[static_cast<size_t>(n)])) {
        return Failure{ErrorCode::kUnsupported,
                       fmt::format("a number that `{}` takes is told by no shape that it reads",
                                   graph_.nodes[static_cast<size_t>(n)].op.name())};
      }
    }
    if (auto known = infer(); !known) {
      // Where only a result has a dim, its output says how long it is.
      for (Statement& s : d_.statements) state_outputs(s);
      if (known = infer(); !known) return known.failure();
    }
    const auto bindings = dims_.bindings();
    if (!bindings) return Failure{ErrorCode::kUnsupported, "an extent has no known range"};
    d_.graph = false;
    std::string text;
    for (const Op& op : own_.ops) text += op.text() + " ";
    const Result<Op>& op = ops_.parse(text + print(d_));
    if (!op) return op.failure();
    return ops_.bind(*op, *bindings + constants() + layouts());
  }

 private:
  const GraphValue& value(int v) const { return graph_.values[static_cast<size_t>(v)]; }

  void name(const std::string& letter, const std::vector<int>& values) {
    for (size_t i = 0; i < values.size(); ++i)
      names_[values[i]] = fmt::format("{}{}", letter, i + 1);
  }

  Argument argument(int v) {
    Argument a;
    a.name = names_.at(v);
    a.type = std::string(name_of(value(v).type));
    for (const Expr& e : value(v).shape) a.shape.push_back(index_term(dims_.renamed(e)));
    return a;
  }

  bool add(const GraphNode& node) {
    Statement s = node.use;
    const std::map<std::string, std::string> indices = name_indices(s);
    s.value.name = own_name(node.op);
    bool known = true;
    const auto number = [&](Term& t) {
      const auto in_names = dims_.number(t, indices);
      known &= in_names.has_value();
      if (in_names) t = *in_names;
    };
    size_t next = 0, tensor = 0;
    for (const Argument& a : node.op.definition->args) {
      if (a.role != ir::Role::kInput) continue;
      Term& given = s.value.args[next++];
      if (a.scalar) {
        number(given);
      } else {
        given = name_term(names_.at(node.reads[tensor++]));
      }
    }
    for (Given& g : s.given) {
      if (!dtype_named(g.value.name)) number(g.value);
    }
    size_t result = 0;
    rename(s, node.makes[result++]);
    for (Left& left : s.also) rename(left, node.makes[result++]);
    d_.statements.push_back(std::move(s));
    return known;
  }

  /// The name of an op in the group's text. The graph's own stand before it. One that is named as a
  /// function is does too, by another name: a statement would mean the function.
  std::string own_name(const Op& op) {
    const std::vector<std::string>& functions = function_words();
    const bool hidden = std::find(functions.begin(), functions.end(), op.name()) != functions.end();
    if (!hidden && !graph_.own.find(op.name())) return op.name();
    const auto [at, fresh] = own_names_.emplace(op.text(), op.name());
    if (!fresh) return at->second;
    KnownOps known(own_, ops_.library());
    while (hidden &&
           (at->second == op.name() || graph_.own.find(at->second) || known.find(at->second))) {
      at->second += "_op";
    }
    auto d = std::make_shared<Definition>(*op.definition);
    d->name = at->second;
    d->text = print(*d);
    own_.ops.push_back(Op{d});
    return d->name;
  }

  /// Indices by their places: no name of the user's can be one of the group's. What they are called
  /// now, by their names.
  static std::map<std::string, std::string> name_indices(Statement& s) {
    std::map<std::string, std::string> names;
    std::vector<Left*> lefts{&s};
    for (Left& left : s.also) lefts.push_back(&left);
    for (Left* left : lefts) {
      for (size_t i = 0; i < left->indices.size(); ++i) {
        const std::string name = fmt::format("i{}", i);
        names[left->indices[i].name] = name;
        left->indices[i].name = name;
      }
    }
    return names;
  }

  /// Ranges that a statement tells in the graph's dims stay, where the group has them. Else they
  /// follow from its arguments: of an image half as high the height is a dim of its own.
  void rename(Left& left, int made) {
    left.omitted = made < 0;
    if (left.omitted) return;
    left.name = names_.at(made);
    const bool leaves = left.name[0] == 'y';
    left.type = leaves ? "" : std::string(name_of(value(made).type));
    for (Range& r : left.indices) {
      std::vector<Term> bounds;
      for (const Term& bound : r.bounds) {
        if (auto in_names = dims_.end(bound)) bounds.push_back(*std::move(in_names));
      }
      if (bounds.size() < r.bounds.size()) bounds.clear();
      r.bounds = std::move(bounds);
    }
  }

  /// The shapes of all that the statements make, in the group's dims: declared for what leaves,
  /// stated as ranges for the rest.
  Result<Done> infer() {
    const auto source = std::make_shared<const Source>(Source{print(d_), "", 1});
    Diagnostics diagnostics(source);
    KnownOps ops(own_, ops_.library());
    const Graph inferred = graph_of(d_, ops, diagnostics);
    if (inferred.nodes.size() != d_.statements.size() || !as_in_graph(inferred)) {
      return Failure{ErrorCode::kUnsupported, "shapes do not follow as in the graph"};
    }
    for (Statement& s : d_.statements) {
      state_ranges(s, inferred);
      for (Left& left : s.also) state_ranges(left, inferred);
    }
    for (const int v : borders_.makes) {
      Argument a;
      a.name = names_.at(v);
      a.type = std::string(name_of(value(v).type));
      a.role = ir::Role::kOutput;
      const int at = inferred.find(a.name);
      for (const Expr& e : inferred.values[static_cast<size_t>(at)].shape) {
        a.shape.push_back(index_term(e));
      }
      d_.args.push_back(std::move(a));
    }
    return Done();
  }

  /// Is all there, with the extents that the graph has where both are numbers?
  bool as_in_graph(const Graph& inferred) const {
    const std::vector<ir::Dim> dims = dims_.ranges();
    for (const auto* side : {&borders_.makes, &borders_.within}) {
      for (const int v : *side) {
        const int at = inferred.find(names_.at(v));
        if (at < 0) return false;
        const std::vector<Expr>&here = inferred.values[static_cast<size_t>(at)].shape,
              &there = value(v).shape;
        if (here.size() != there.size()) return false;
        for (size_t i = 0; i < here.size(); ++i) {
          const Expr one = with_fixed_dims(here[i], dims), other = dims_.fixed(there[i]);
          const bool numbers = one->op == ir::Op::kInt && other->op == ir::Op::kInt;
          if (numbers && one->i != other->i) return false;
        }
      }
    }
    return true;
  }

  void state_outputs(Statement& s) {
    std::vector<Left*> lefts{&s};
    for (Left& left : s.also) lefts.push_back(&left);
    for (Left* left : lefts) {
      if (left->omitted || left->name[0] != 'y') continue;
      const int v = borders_.makes[static_cast<size_t>(std::stoi(left->name.substr(1))) - 1];
      for (size_t i = 0; i < left->indices.size(); ++i) {
        if (!left->indices[i].bounds.empty()) continue;
        left->indices[i].bounds = {whole_term(0), index_term(dims_.renamed(value(v).shape[i]))};
      }
    }
  }

  static void state_ranges(Left& left, const Graph& inferred) {
    if (left.omitted || left.name[0] == 'y') return;
    const GraphValue& v = inferred.values[static_cast<size_t>(inferred.find(left.name))];
    for (size_t i = 0; i < left.indices.size(); ++i) {
      left.indices[i].bounds = {whole_term(0), index_term(v.shape[i])};
    }
  }

  std::string constants() const {
    std::string text;
    for (const int v : borders_.reads) {
      if (value(v).kind != GraphValue::kConstant) continue;
      text += (text.empty() ? " const=" : ",") + names_.at(v);
    }
    return text;
  }

  std::string layouts() const {
    std::string text;
    for (const auto* side : {&borders_.reads, &borders_.makes}) {
      for (const int v : *side) {
        text += " " + layout_word(*d_.arg(names_.at(v)), value(v));
      }
    }
    return text;
  }

  const Graph& graph_;
  const Group& group_;
  const Borders& borders_;
  GroupOps& ops_;
  GroupDims dims_;
  Definition d_;
  std::map<int, std::string> names_;              ///< of values
  Library own_;                                   ///< ops that stand before it
  std::map<std::string, std::string> own_names_;  ///< of these, by their texts
};

bool is_plain(const GraphNode& node) {
  const auto omitted = [](int v) { return v < 0; };
  return node.plain && std::none_of(node.makes.begin(), node.makes.end(), omitted);
}

}  // namespace

/// The words that bind a plain node's op.
static Result<std::string> bindings_of(const Graph& graph, const GraphNode& node,
                                       const std::vector<ir::Dim>& dims) {
  const Definition& d = *node.op.definition;
  std::string words, constants;
  for (const auto& [name, extent] : node.numbers) {
    const auto range = range_of_extent(with_fixed_dims(extent, dims), dims);
    if (!range) return Failure{ErrorCode::kUnsupported, "an extent has no known range"};
    words += binding_text(name, *range);
  }
  for (const auto& [name, type] : node.types) words += fmt::format(" {}={}", name, name_of(type));
  std::string layouts;
  size_t read = 0, made = 0;
  for (const Argument& a : d.args) {
    const bool result = a.role == ir::Role::kOutput;
    if (!result && a.role != ir::Role::kInput) continue;
    const int v = result ? node.makes[made++] : node.reads[read++];
    const GraphValue& value = graph.values[static_cast<size_t>(v)];
    layouts += " " + layout_word(a, value);
    if (value.kind != GraphValue::kConstant) continue;
    constants += (constants.empty() ? " const=" : ",") + a.name;
  }
  return words + constants + layouts;
}

Result<Problem> problem_of(const Graph& graph, const GraphNode& node,
                           const std::vector<ir::Dim>& dims, const Library* library) {
  const auto bindings = bindings_of(graph, node, dims);
  if (!bindings) return bindings.failure();
  return make_problem(node.op, *bindings, library);
}

const Result<Op>& GroupOps::parse(const std::string& text) {
  const auto known = by_text_.find(text);
  if (known != by_text_.end()) return known->second;
  return by_text_.emplace(text, parse_op(text, "", 1, false, library_)).first->second;
}

const Result<Problem>& GroupOps::bind(const Op& op, const std::string& bindings) {
  std::pair key(op.definition, bindings);
  const auto known = problems_.find(key);
  if (known != problems_.end()) return known->second;
  return problems_.emplace(std::move(key), make_problem(op, bindings, library_)).first->second;
}

Result<Group> make_group(const Graph& graph, std::vector<int> nodes,
                         const std::vector<ir::Dim>& dims, GroupOps& ops) {
  Group group;
  group.nodes = std::move(nodes);
  const GraphNode& first = graph.nodes[static_cast<size_t>(group.nodes[0])];
  for (const int n : group.nodes) {
    if (!graph.nodes[static_cast<size_t>(n)].host) continue;
    return Failure{ErrorCode::kUnsupported, "a function of the host is part of no kernel"};
  }
  if (group.nodes.size() == 1 && is_plain(first)) {
    const auto bindings = bindings_of(graph, first, dims);
    if (bindings) {
      const Result<Problem>& problem = ops.bind(first.op, *bindings);
      if (problem) {
        group.reads = first.reads;
        group.makes = first.makes;
        group.problem = *problem;
        return group;
      }
    }
  }
  const Borders borders(graph, group.nodes);
  group.reads = borders.reads;
  group.makes = borders.makes;
  auto problem = GroupWriter(graph, group, borders, dims, true, ops).problem();
  if (!problem) problem = GroupWriter(graph, group, borders, dims, false, ops).problem();
  if (!problem) return problem.failure();
  group.problem = std::move(*problem);
  return group;
}

}  // namespace hone::ops
