// SPDX-License-Identifier: Apache-2.0
#include "ops/graph/written_node.h"

#include <fmt/format.h>

#include <algorithm>

#include "ops/definition.h"
#include "ops/gradient/equations.h"
#include "ops/gradient/index_terms.h"
#include "ops/gradient/terms.h"
#include "ops/graph/byte_factors.h"

namespace hone::ops {
namespace {

/// How many dims a value of the graph has more than what an op declares.
size_t more_dims(const Graph& graph, int v, const Argument& a) {
  return graph.values[static_cast<size_t>(v)].shape.size() - a.shape.size();
}

/// Names that `d` does not have: `prefix` and a number.
std::vector<std::string> fresh_names(const Definition& d, const std::string& prefix, size_t count) {
  std::set<std::string> used(d.dims.begin(), d.dims.end());
  for (const Argument& a : d.args) used.insert(a.name);
  for (const Param& p : d.params) used.insert(p.name);
  std::vector<std::string> out;
  for (int i = 1; out.size() < count; ++i) {
    std::string name = fmt::format("{}{}", prefix, i);
    if (!used.contains(name)) out.push_back(std::move(name));
  }
  return out;
}

/// The op of a node that repeats its own op over dims that stand before.
class Repeated {
 public:
  Repeated(const Graph& graph, const GraphNode& node, const Definition& d, size_t batch)
      : graph_(graph), node_(node), d_(d), dims_(fresh_names(d, "OVER", batch)) {
    size_t rank = 0;
    for (const Argument& a : d.args) rank = std::max(rank, a.shape.size());
    indices_ = fresh_names(d, "at", batch + rank);
  }

  const std::vector<std::string>& dims() const { return dims_; }

  /// `single` is the op that it repeats.
  Definition definition(const std::string& single) const {
    Definition out;
    out.name = d_.name;
    out.params = d_.params;
    size_t read = 0, made = 0;
    std::vector<Term> args;
    std::vector<Left> lefts;
    for (const Argument& a : d_.args) {
      const bool result = a.role == ir::Role::kOutput;
      if (!result) args.push_back(name_term(a.name));
      if (a.scalar) {
        out.args.push_back(a);
        continue;
      }
      const int v = result ? node_.makes[made++] : node_.reads[read++];
      if (result) lefts.push_back(left(a, v));
      if (v >= 0) out.args.push_back(argument(a, more_dims(graph_, v, a)));
    }
    Statement s;
    static_cast<Left&>(s) = lefts[0];
    s.also.assign(lefts.begin() + 1, lefts.end());
    s.value = call_term(single, std::move(args));
    for (const Param& p : d_.params) {
      Given g;
      g.name = p.name;
      g.value = name_term(p.name);
      s.given.push_back(std::move(g));
    }
    out.statements.push_back(std::move(s));
    return out;
  }

 private:
  Argument argument(Argument a, size_t extra) const {
    std::vector<Term> shape;
    for (size_t i = dims_.size() - extra; i < dims_.size(); ++i) {
      shape.push_back(name_term(dims_[i]));
    }
    a.shape.insert(a.shape.begin(), shape.begin(), shape.end());
    return a;
  }

  Left left(const Argument& a, int v) const {
    Left out;
    out.name = a.name;
    out.omitted = v < 0;
    for (size_t i = 0; !out.omitted && i < dims_.size() + a.shape.size(); ++i) {
      out.indices.push_back({indices_[i], {}, {}});
    }
    return out;
  }

  const Graph& graph_;
  const GraphNode& node_;
  const Definition& d_;
  std::vector<std::string> dims_, indices_;
};

/// Does a statement have the name, of a tensor or a number, on its right side or in its positions?
bool has_name(const Statement& s, const std::string& name) {
  bool found = false;
  const auto look = [&](const Term& t) { found = found || mentions(t, name) || reads(t, name); };
  look(s.value);
  for (const auto* terms : {&s.where, &s.otherwise}) {
    std::for_each(terms->begin(), terms->end(), look);
  }
  for (const auto* ranges : {&s.indices, &s.loops}) {
    for (const Range& r : *ranges) {
      std::for_each(r.at.begin(), r.at.end(), look);
      std::for_each(r.bounds.begin(), r.bounds.end(), look);
    }
  }
  return found;
}

/// Of a definition without some results: statements that lead to none of the others are gone. So
/// are arguments that nothing needs then, nor their shapes.
void drop_unneeded(Definition& d) {
  const auto is_unread = [&](const Statement& s) {
    return !d.arg(s.name) &&
           std::none_of(d.statements.begin(), d.statements.end(), [&](const Statement& o) {
             return o.name != s.name && has_name(o, s.name);
           });
  };
  for (bool more = true; more;) {
    const auto at = std::find_if(d.statements.begin(), d.statements.end(), is_unread);
    more = at != d.statements.end();
    if (more) d.statements.erase(at);
  }
  const auto is_told = [&](const Term& extent, const Argument& besides) {
    const auto has = [&](const Term& t) { return same(t, extent); };
    return extent.kind != Term::kName ||
           std::any_of(d.args.begin(), d.args.end(), [&](const Argument& o) {
             return o.name != besides.name && std::any_of(o.shape.begin(), o.shape.end(), has);
           });
  };
  const auto is_spare = [&](const Argument& a) {
    return a.role != ir::Role::kOutput &&
           std::none_of(d.statements.begin(), d.statements.end(),
                        [&](const Statement& s) { return has_name(s, a.name); }) &&
           std::all_of(a.shape.begin(), a.shape.end(),
                       [&](const Term& t) { return is_told(t, a); });
  };
  for (bool more = true; more;) {
    const auto at = std::find_if(d.args.begin(), d.args.end(), is_spare);
    more = at != d.args.end();
    if (more) d.args.erase(at);
  }
}

}  // namespace

Result<WrittenNode> written_node(const Graph& graph, const GraphNode& node,
                                 const Library* library) {
  WrittenNode out;
  Definition d = with_types(node);
  size_t batch = 0, read = 0, made = 0, next = 0;
  std::vector<ir::Expr> over;
  for (Argument& a : d.args) {
    const bool result = a.role == ir::Role::kOutput;
    const Term* given = result ? nullptr : &node.use.value.args[next++];
    if (a.scalar) {
      const DType type = dtype_named(a.type).value_or(DType::kF32);
      if (is_float(type) && type != DType::kF64) a.type = "f32";
      out.scalars.emplace(a.name, *given);
      continue;
    }
    const int v = result ? node.makes[made++] : node.reads[read++];
    out.values[a.name] = v;
    if (!result || v < 0) continue;
    batch = more_dims(graph, v, a);
    const std::vector<ir::Expr>& shape = graph.values[static_cast<size_t>(v)].shape;
    over.assign(shape.begin(), shape.begin() + static_cast<std::ptrdiff_t>(batch));
  }
  for (const Given& g : node.use.given) {
    if (!dtype_named(g.value.name)) out.given.push_back(g);
  }
  for (const auto& [name, number] : node.numbers) out.numbers[name] = number;
  for (const auto& [name, t] : out.scalars) {
    for (const Range& r : node.use.indices) {
      if (!mentions(t, r.name)) continue;
      return Failure{
          ErrorCode::kUnsupported,
          fmt::format("`{}` differs with `{}`; let it be made of numbers and dims", name, r.name)};
    }
  }
  std::string text;
  if (batch > 0) {
    const Repeated repeated(graph, node, d, batch);
    const std::string single = d.name == "single" ? "one" : "single";
    const Definition outer = repeated.definition(single);
    d.name = single;
    text = print(d) + "\n" + print(outer);
    for (size_t i = 0; i < batch; ++i) out.numbers[repeated.dims()[i]] = over[i];
  } else {
    text = print(d);
  }
  auto op = parse_op(text, "", 1, false, library);
  if (!op) return op.failure();
  out.op = *std::move(op);
  return out;
}

std::optional<Op> without_results(const Op& op, const std::set<std::string>& results) {
  if (results.empty()) return op;
  Definition d = *op.definition;
  Equations equations(d);
  if (!equations.build()) return {};
  for (Statement& s : d.statements) {
    if (!results.contains(s.name)) continue;
    // A value between states what its declaration said.
    s.type = d.arg(s.name)->type;
    for (size_t i = 0; i < s.indices.size(); ++i) {
      s.indices[i].bounds = {whole_term(0), d.arg(s.name)->shape[i]};
    }
  }
  std::erase_if(d.args, [&](const Argument& a) { return results.contains(a.name); });
  drop_unneeded(d);
  if (d.statements.empty()) return {};
  auto out = Op::parse(print(d));
  if (!out) return {};
  return *std::move(out);
}

}  // namespace hone::ops
