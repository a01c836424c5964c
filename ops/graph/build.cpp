// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "jit/ir/spelling.h"
#include "ops/foreign.h"
#include "ops/gradient/index_terms.h"
#include "ops/gradient/terms.h"
#include "ops/graph/graph.h"
#include "ops/graph/host_use.h"
#include "ops/stock.h"
#include "ops/uses/fit.h"
#include "ops/uses/known_ops.h"

namespace hone::ops {
namespace {

class GraphBuilder {
 public:
  GraphBuilder(const Definition& d, KnownOps& ops, Diagnostics& diagnostics)
      : written_(d), d_(stated(d)), ops_(ops), diagnostics_(diagnostics), tensors_(d_) {
    graph_.name = d.name;
  }

  Graph run() {
    for (const Argument& a : written_.args) declare(a);
    for (const Statement& s : d_.statements) add(s);
    if (diagnostics_.failed()) return std::move(graph_);
    check_uses();
    Definition written = written_;
    for (Argument& a : written.args) state(a);
    for (size_t i = 0; i < written.statements.size(); ++i) {
      written.statements[i] = graph_.nodes[i].use;
    }
    graph_.text = print(written);
    return std::move(graph_);
  }

 private:
  /// Without outputs that say nothing of themselves: they are as any tensor that a node makes.
  static Definition stated(Definition d) {
    std::erase_if(d.args, [](const Argument& a) { return a.inferred; });
    return d;
  }

  /// Writes down of such an output what its node makes.
  void state(Argument& a) {
    const GraphValue& v = value(graph_.places.at(a.name));
    if (!std::exchange(a.inferred, false)) return;
    a.type = name_of(v.type);
    for (const ir::Expr& extent : v.shape) a.shape.push_back(index_term(extent));
  }

  template <class... Args>
  void error(Span span, fmt::format_string<Args...> format, Args&&... args) {
    diagnostics_.error(span, fmt::format(format, std::forward<Args>(args)...));
  }

  /// A name for one thing; an error where another has it.
  void name(const std::string& name, Span span, std::string what) {
    const auto [at, fresh] = names_.emplace(name, what);
    if (!fresh) error(span, "`{}` already names {}; choose another name", name, at->second);
  }

  void declare(const Argument& a) {
    const bool given = a.role != ir::Role::kOutput;
    if (a.scalar) {
      error(a.span, "`{}` is a scalar; a graph takes tensors: `{}: {}[]` has one element", a.name,
            a.name, a.type);
      return;
    }
    const auto type = dtype_named(a.type);
    if (!type && !a.inferred) {
      unknown_.insert(a.name);
      error(a.type_span, "there is no dtype `{}`; dtypes are {}{}", a.type, spaced(dtype_words()),
            dtype_hint(a.type));
    }
    GraphValue v;
    v.name = a.name;
    v.span = a.span;
    v.type = type.value_or(DType::kF32);
    v.kind = a.constant ? GraphValue::kConstant : GraphValue::kInput;
    for (const Term& extent : a.shape) {
      collect_dims(extent, given);
      const ir::Expr e = extent_expr(extent);
      if (!e) unknown_.insert(a.name);
      v.shape.push_back(tidy(e ? e : ir::make_int(0)));
    }
    v.output = a.role == ir::Role::kOutput;
    if (v.output) v.kind = GraphValue::kMade;
    if (a.inferred) inferred_.insert(a.name);
    name(a.name, a.span, "a tensor");
    keep(std::move(v));
  }

  /// `given`: they are of a tensor that the caller gives.
  void collect_dims(const Term& t, bool given) {
    if (t.kind == Term::kName) {
      if (given) given_dims_.insert(t.name);
      add_dim(t.name, t.span);
      return;
    }
    for (const Term& a : t.args) collect_dims(a, given);
    if (!extent_expr(t)) {
      error(t.span, "an extent is made of dims, integers and + - * / %");
    }
  }

  bool is_dim(const std::string& name) const {
    return std::find(graph_.dims.begin(), graph_.dims.end(), name) != graph_.dims.end();
  }

  void add_dim(const std::string& dim, Span span) {
    if (is_dim(dim)) return;
    name(dim, span, "a dim");
    graph_.dims.push_back(dim);
  }

  /// The function of the host that a statement uses, or null. Ops of its name go before.
  const HostFunction* find_host(const Statement& s) {
    if (s.value.kind != Term::kCall || ops_.find(s.value.name)) return nullptr;
    return find_host_function(s.value.name);
  }

  void add_host(const HostFunction& f, const Statement& s) {
    if (!knows_arguments(s)) return give_up(s);
    GraphNode node;
    node.plain = false;
    std::vector<HostTensor> reads;
    for (const Term& t : s.value.args) {
      const auto at = t.kind == Term::kName ? graph_.places.find(t.name) : graph_.places.end();
      if (at == graph_.places.end()) {
        error(t.span, "`{}` takes tensors by their names: `{}`", f.name, f.usage);
        return give_up(s);
      }
      node.reads.push_back(at->second);
      reads.push_back({value(at->second).type, value(at->second).shape});
    }
    auto numbers = host_numbers(f, s);
    const auto results = numbers ? host_results(f, reads, *numbers, s.also.size() + 1)
                                 : Result<HostResults>(numbers.failure());
    if (!results) {
      error(s.value.span, "{}", results.failure().message);
      return give_up(s);
    }
    node.op = host_op(f, reads, *results);
    node.use = with_indices(s, *node.op.definition);
    if (!check_lefts(node.use)) return give_up(s);
    const std::string dim = data_dim(node.use, *results);
    if (dim.empty()) return give_up(s);
    node.host = HostUse{&f, *std::move(numbers), dim};
    graph_.data_dims.push_back({dim, tidy(results->most)});
    const int number = static_cast<int>(graph_.nodes.size());
    for (const int read : node.reads) {
      std::vector<int>& readers = value(read).readers;
      if (readers.empty() || readers.back() != number) readers.push_back(number);
    }
    node.makes = make_all(node.use, *results, dim);
    graph_.nodes.push_back(std::move(node));
  }

  /// The name of the dim that a function of the host tells. Ranges of the statement say it, else
  /// declared outputs, else it is made here. Empty: there is an error.
  std::string data_dim(const Statement& s, const HostResults& results) {
    std::string dim = stated_dim(s, results);
    if (dim.empty()) {
      dim = declared_dim(s, results, [&](const std::string& tensor) -> const GraphValue* {
        const auto at = graph_.places.find(tensor);
        const bool declared = at != graph_.places.end() && !inferred_.contains(tensor);
        return declared ? &value(at->second) : nullptr;
      });
    }
    if (dim.empty()) {
      dim = s.name + "_size";
      while (names_.contains(dim)) dim += '_';
    }
    const bool told =
        given_dims_.contains(dim) || std::any_of(graph_.data_dims.begin(), graph_.data_dims.end(),
                                                 [&](const DataDim& d) { return d.name == dim; });
    if (told || std::any_of(graph_.nodes.begin(), graph_.nodes.end(),
                            [&](const GraphNode& n) { return names_dim(graph_, n, dim); })) {
      error(s.span, "`{}` has a value before this statement; choose another dim", dim);
      return "";
    }
    add_dim(dim, s.span);
    return dim;
  }

  /// The values that the results of a function become. Their ranges are stated then.
  std::vector<int> make_all(Statement& s, const HostResults& results, const std::string& dim) {
    std::vector<int> makes;
    std::vector<Left*> lefts{&s};
    for (Left& left : s.also) lefts.push_back(&left);
    bool any = false;
    for (size_t k = 0; k < lefts.size(); ++k) {
      Left& left = *lefts[k];
      std::vector<ir::Expr> shape;
      for (const ir::Expr& e : results.tensors[k].shape) {
        shape.push_back(e ? tidy(e) : ir::make_dim(dim));
      }
      any |= !left.omitted;
      const DType type = results.tensors[k].type;
      makes.push_back(left.omitted ? -1 : make(left, name_of(type), shape));
      if (left.omitted) continue;
      const int made = makes.back();
      const bool declared = made >= 0 && value(made).type != type;
      if (declared || (!left.type.empty() && left.type != name_of(type))) {
        error(left.span, "`{}` is {} here, as `{}` makes it, and said to be {}", left.name,
              name_of(type), s.value.name, declared ? name_of(value(made).type) : left.type);
      }
      if (!state_ranges(left, shape)) {
        error(left.span, "`{}` has other dims: it is {}[{}] here", left.name,
              name_of(results.tensors[k].type), shape_text(shape));
      }
    }
    if (!any) error(s.value.span, "nothing takes what `{}` makes", s.value.name);
    return makes;
  }

  /// The op that a statement uses, or null and an error.
  const Op* find(const Statement& s) {
    const Op* op = s.value.kind == Term::kCall ? ops_.find(s.value.name) : nullptr;
    if (op) return op;
    if (s.value.kind != Term::kCall) {
      error(s.value.span, "a statement of a graph uses an op, as in `y = softmax(x)`");
      return nullptr;
    }
    const std::vector<std::string_view> stock = stock_names();
    error(s.value.span, "there is no op `{}`{}", s.value.name,
          ir::did_you_mean(s.value.name, {stock.begin(), stock.end()}));
    return nullptr;
  }

  void add(const Statement& s) {
    if (const HostFunction* f = find_host(s)) return add_host(*f, s);
    const Op* op = find(s);
    if (!op || !knows_arguments(s)) return give_up(s);
    GraphNode node;
    node.op = *op;
    node.use = with_indices(s, *op->definition);
    if (!check_lefts(node.use) || !check_numbers(node.use, *op->definition)) return give_up(s);
    Fit fit(*op->definition, d_, node.use, tensors_, diagnostics_);
    if (!fit.solve() || !take_numbers(fit, node)) return give_up(s);
    const int number = static_cast<int>(graph_.nodes.size());
    for (const Argument& a : op->definition->args) {
      if (a.role != ir::Role::kInput) continue;
      node.plain &= !a.scalar;
      if (a.scalar) continue;
      const int read = graph_.places.at(fit.operand(a.name).tensor);
      node.reads.push_back(read);
      std::vector<int>& readers = value(read).readers;
      if (readers.empty() || readers.back() != number) readers.push_back(number);
    }
    node.plain &= fit.batch().empty();
    for (const Fit::Made& made : fit.results()) node.makes.push_back(make(fit, made));
    graph_.nodes.push_back(std::move(node));
  }

  /// What a wrong statement was to make has a name, and nothing more is known.
  void give_up(const Statement& s) {
    unknown_.insert(s.name);
    for (const Left& left : s.also) unknown_.insert(left.name);
  }

  /// False where an argument comes of a wrong statement, or of a later one, which is an error.
  bool knows_arguments(const Statement& s) {
    bool known = true;
    for (const Term& t : s.value.args) {
      const auto at = graph_.places.find(t.name);
      if (t.kind != Term::kName) continue;
      known &= !unknown_.contains(t.name);
      if (at == graph_.places.end() || !known) continue;
      const bool later = value(at->second).kind == GraphValue::kMade && !made_.contains(t.name);
      if (later) error(t.span, "`{}` is read before the statement that makes it", t.name);
      known &= !later;
    }
    return known;
  }

  /// Indices have names of their own and ranges from 0; dtypes that are stated are there.
  bool check_lefts(const Statement& s) {
    const size_t before = diagnostics_.count();
    std::vector<const Left*> lefts{&s};
    for (const Left& left : s.also) lefts.push_back(&left);
    for (const Left* left : lefts) {
      if (!left->type.empty() && !dtype_named(left->type)) {
        error(left->type_span, "there is no dtype `{}`; dtypes are {}{}", left->type,
              spaced(dtype_words()), dtype_hint(left->type));
      }
      for (const Range& r : left->indices) {
        if (names_.contains(r.name)) {
          error(r.span, "`{}` already names {}; choose another index", r.name, names_.at(r.name));
        }
        const bool zero =
            r.bounds.empty() || (r.bounds[0].kind == Term::kInt && r.bounds[0].i == 0);
        if (!zero) error(r.span, "the range of an index of a whole tensor begins with 0");
      }
    }
    return diagnostics_.count() == before;
  }

  /// Scalars and parameters are made of numbers, dims and the indices over which the op is
  /// repeated.
  bool check_numbers(const Statement& s, const Definition& used) {
    const size_t before = diagnostics_.count();
    const auto look = [&](const Term& t) {
      const auto& dims = graph_.dims;
      const bool known = std::find(dims.begin(), dims.end(), t.name) != dims.end() ||
                         std::any_of(s.indices.begin(), s.indices.end(),
                                     [&](const Range& r) { return r.name == t.name; });
      if (t.kind == Term::kAccess) {
        error(t.span, "`{}` is an element; a scalar of a graph is made of numbers and dims",
              t.name);
      } else if (t.kind == Term::kName && !known && !tensors_.find(t.name)) {
        error(t.span, "`{}` is no dim here; dims are {}", t.name,
              dims.empty() ? "none" : fmt::format("{}", fmt::join(dims, " ")));
      }
      return false;
    };
    size_t next = 0;
    for (const Argument& a : used.args) {
      if (a.role != ir::Role::kInput || next >= s.value.args.size()) continue;
      const Term& given = s.value.args[next++];
      if (a.scalar) any_part(given, look);
    }
    for (const Given& g : s.given) {
      if (!dtype_named(g.value.name)) any_part(g.value, look);
    }
    return diagnostics_.count() == before;
  }

  /// Is what an op makes of the shape that its output declares?
  bool fits(const Left& left, const std::vector<ir::Expr>& made, const GraphValue& declared) {
    if (made.size() != declared.shape.size()) {
      error(left.span, "`{}` is declared with {} dims, and has {} here", left.name,
            declared.shape.size(), made.size());
      return false;
    }
    for (size_t i = 0; i < made.size(); ++i) {
      if (!made[i] || equal_index(made[i], declared.shape[i])) continue;
      error(left.span, "dim {} of `{}` is declared as {}, and is {} here", i, left.name,
            ir::print(declared.shape[i]), ir::print(made[i]));
      return false;
    }
    return true;
  }

  GraphValue& value(int i) { return graph_.values[static_cast<size_t>(i)]; }

  void keep(GraphValue v) {
    graph_.places[v.name] = static_cast<int>(graph_.values.size());
    graph_.values.push_back(std::move(v));
  }

  /// The statement with an index for each dim of the results, where it names none.
  Statement with_indices(const Statement& s, const Definition& used) {
    Statement out = s;
    std::vector<Left*> lefts{&out};
    for (Left& left : out.also) lefts.push_back(&left);
    size_t batch = 0, next = 0;
    for (const Argument& a : used.args) {
      if (a.role != ir::Role::kInput || next >= s.value.args.size()) continue;
      const Term& given = s.value.args[next++];
      const WrittenTensor* t = a.scalar ? nullptr : tensors_.find(given.name);
      if (t && t->shape.size() > a.shape.size()) {
        batch = std::max(batch, t->shape.size() - a.shape.size());
      }
    }
    next = 0;
    for (const Argument& a : used.args) {
      if (a.role != ir::Role::kOutput || next >= lefts.size()) continue;
      Left& left = *lefts[next++];
      if (left.omitted || !left.indices.empty()) continue;
      for (size_t i = 0; i < batch + a.shape.size(); ++i) {
        Range r;
        r.name = index_name(i);
        r.span = left.span;
        left.indices.push_back(std::move(r));
      }
    }
    return out;
  }

  /// A name for index `i` that no tensor or dim has.
  std::string index_name(size_t i) const {
    std::string name = fmt::format("i{}", i);
    while (names_.contains(name) || tensors_.find(name)) name += '_';
    return name;
  }

  bool take_numbers(Fit& fit, GraphNode& node) {
    const Definition& used = *node.op.definition;
    for (const std::string& dim : used.dims) {
      const Term* value = fit.number(dim);
      if (!value) return false;
      node.numbers.emplace_back(dim, extent_expr(*value));
    }
    for (const Param& p : used.params) {
      if (!p.is_type) {
        const Term* value = fit.number(p.name);
        if (!value) return false;
        node.numbers.emplace_back(p.name, extent_expr(*value));
        continue;
      }
      const std::string type = fit.needed_type(p.name);
      if (type.empty()) return false;
      node.types.emplace_back(p.name, dtype_named(type).value_or(DType::kF32));
    }
    return true;
  }

  /// The value that a result becomes; -1 where it has no name.
  int make(Fit& fit, const Fit::Made& made) {
    if (!made.left) return -1;
    const std::string type = fit.needed_type(made.result->type);
    return make(*made.left, type, fit.shape_of(made));
  }

  int make(const Left& left, std::string_view type, const std::vector<ir::Expr>& shape) {
    if (!made_.insert(left.name).second) {
      error(left.span, "`{}` is made twice; choose another name", left.name);
      return -1;
    }
    const auto declared = graph_.places.find(left.name);
    const bool inferred = inferred_.contains(left.name);
    if (declared != graph_.places.end() && !inferred) {
      if (value(declared->second).kind != GraphValue::kMade) {
        error(left.span, "`{}` is given by the caller; choose another name", left.name);
      } else {
        fits(left, shape, value(declared->second));
      }
      return declared->second;
    }
    if (std::any_of(shape.begin(), shape.end(), [](const ir::Expr& e) { return !e; })) {
      error(left.span, "nothing tells how long each dim of `{}` is; state ranges, `{}[i in 0..N]`",
            left.name, left.name);
      return -1;
    }
    tensors_.add(WrittenTensor{left.name, std::string(type), shape});
    if (!inferred) {
      name(left.name, left.span, "a tensor");
      GraphValue v;
      v.name = left.name;
      v.span = left.span;
      v.kind = GraphValue::kMade;
      keep(std::move(v));
    }
    const int at = graph_.places.at(left.name);
    value(at).type = dtype_named(type).value_or(DType::kF32);
    value(at).shape = shape;
    return at;
  }

  void check_uses() {
    std::set<std::string_view> told;  // a node may be there for the dim that it tells
    for (const GraphNode& node : graph_.nodes) {
      for (size_t k = 0; node.host && k < node.makes.size(); ++k) {
        if (node.makes[k] >= 0) told.insert(value(node.makes[k]).name);
      }
    }
    for (const GraphValue& v : graph_.values) {
      if (v.output && !made_.contains(v.name)) {
        error(v.span, "no statement makes `{}`", v.name);
      } else if (told.contains(v.name)) {
        continue;
      } else if (v.kind != GraphValue::kInput && !v.output && v.readers.empty()) {
        diagnostics_.consequence(
            v.span, fmt::format("`{}` is never read; take it out", v.name) +
                        (v.kind == GraphValue::kMade ? ", or put `_` where an op makes more" : ""));
      }
    }
  }

  const Definition& written_;
  const Definition d_;  ///< without outputs that are inferred
  KnownOps& ops_;
  Diagnostics& diagnostics_;
  WrittenTensors tensors_;
  Graph graph_;
  std::map<std::string, std::string> names_;
  std::set<std::string> made_;
  std::set<std::string> inferred_;    ///< outputs
  std::set<std::string> unknown_;     ///< that wrong statements were to make
  std::set<std::string> given_dims_;  ///< dims of what the caller gives
};

}  // namespace

int Graph::find(std::string_view name) const {
  const auto at = places.find(name);
  return at == places.end() ? -1 : at->second;
}

Graph graph_of(const Definition& d, KnownOps& ops, Diagnostics& diagnostics) {
  return GraphBuilder(d, ops, diagnostics).run();
}

}  // namespace hone::ops
