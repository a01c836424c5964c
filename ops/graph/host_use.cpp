// SPDX-License-Identifier: Apache-2.0
#include "ops/graph/host_use.h"

#include <fmt/format.h>

#include <algorithm>

#include "ops/gradient/index_terms.h"
#include "ops/gradient/terms.h"
#include "ops/uses/written_tensors.h"

namespace hone::ops {

bool names_dim(const ir::Expr& e, const std::string& dim) {
  if (!e) return false;
  if (e->op == ir::Op::kDim) return e->name == dim;
  return std::any_of(e->args.begin(), e->args.end(),
                     [&](const ir::Expr& a) { return names_dim(a, dim); });
}

bool names_dim(const Graph& graph, const GraphNode& node, const std::string& dim) {
  const auto any = [&](const ir::Expr& e) { return names_dim(e, dim); };
  for (const int v : node.makes) {
    if (v < 0) continue;
    const std::vector<ir::Expr>& shape = graph.values[static_cast<size_t>(v)].shape;
    if (std::any_of(shape.begin(), shape.end(), any)) return true;
  }
  return std::any_of(node.numbers.begin(), node.numbers.end(),
                     [&](const auto& number) { return any(number.second); });
}

std::vector<std::vector<int>> tellers(const Graph& graph) {
  std::vector<std::vector<int>> out(graph.nodes.size());
  for (size_t h = 0; h < graph.nodes.size(); ++h) {
    if (!graph.nodes[h].host) continue;
    for (size_t n = 0; n < graph.nodes.size(); ++n) {
      if (n == h || !names_dim(graph, graph.nodes[n], graph.nodes[h].host->dim)) continue;
      out[n].push_back(static_cast<int>(h));
    }
  }
  return out;
}

Op host_op(const HostFunction& function, const std::vector<HostTensor>& reads,
           const HostResults& results) {
  auto d = std::make_shared<Definition>();
  d->name = function.name;
  const auto add = [&](const HostTensor& t, ir::Role role) {
    Argument a;
    a.name = fmt::format("{}{}", role == ir::Role::kInput ? "X" : "Y", d->args.size());
    a.type = std::string(name_of(t.type));
    a.role = role;
    for (size_t i = 0; i < t.shape.size(); ++i) {
      d->dims.push_back(fmt::format("D{}", d->dims.size()));
      a.shape.push_back(name_term(d->dims.back()));
    }
    d->args.push_back(std::move(a));
  };
  for (const HostTensor& t : reads) add(t, ir::Role::kInput);
  for (const HostTensor& t : results.tensors) add(t, ir::Role::kOutput);
  d->text = function.usage;
  d->closed = true;
  return Op{std::move(d)};
}

Result<std::vector<int64_t>> host_numbers(const HostFunction& function, const Statement& use) {
  std::vector<int64_t> numbers;
  std::vector<std::string_view> names;
  for (const HostParam& p : function.params) {
    numbers.push_back(p.otherwise);
    names.push_back(p.name);
  }
  for (const Given& given : use.given) {
    const auto at = std::find(names.begin(), names.end(), given.name);
    if (at == names.end()) {
      return Failure{ErrorCode::kSemantic,
                     fmt::format("there is no parameter `{}`: `{}`", given.name, function.usage)};
    }
    const auto place = static_cast<size_t>(at - names.begin());
    const HostParam& p = function.params[place];
    const ir::Expr e = extent_expr(given.value);
    int64_t value = 0;
    if (!e || !ir::is_const(e, &value) || value < p.least || value > p.largest) {
      return Failure{ErrorCode::kSemantic, fmt::format("`{}` is {}; {} to {} are accepted", p.name,
                                                       print(given.value), p.least, p.largest)};
    }
    numbers[place] = value;
  }
  return numbers;
}

Result<HostResults> host_results(const HostFunction& function, const std::vector<HostTensor>& reads,
                                 const std::vector<int64_t>& numbers, size_t results) {
  const auto wrong = [&](const std::string& why) {
    return Failure{ErrorCode::kSemantic, fmt::format("`{}` {}", function.usage, why)};
  };
  if (reads.size() < function.least_reads || reads.size() > function.most_reads) {
    return wrong(fmt::format("takes {} to {} tensors, and {} are given", function.least_reads,
                             function.most_reads, reads.size()));
  }
  if (std::any_of(reads.begin(), reads.end(), [](const auto& t) { return is_packed(t.type); })) {
    return wrong("takes no elements of less than a byte");
  }
  auto out = function.results(reads, numbers);
  if (!out) return wrong("does not take these tensors: " + out.failure().message);
  if (out->tensors.size() == results) return out;
  return wrong(fmt::format("makes {} tensors, and {} are named; `_` leaves one out",
                           out->tensors.size(), results));
}

namespace {

/// Calls `f` with each left side that takes a result, its shape, and the dim that data tell.
template <class F>
void each_data_dim(const Statement& s, const HostResults& results, const F& f) {
  for (size_t k = 0; k < results.tensors.size(); ++k) {
    const Left& left = k == 0 ? static_cast<const Left&>(s) : s.also[k - 1];
    const std::vector<ir::Expr>& shape = results.tensors[k].shape;
    for (size_t i = 0; i < shape.size() && !left.omitted; ++i) {
      if (!shape[i]) f(left, shape.size(), i);
    }
  }
}

}  // namespace

std::string stated_dim(const Statement& s, const HostResults& results) {
  std::string dim;
  each_data_dim(s, results, [&](const Left& left, size_t, size_t i) {
    if (!dim.empty() || i >= left.indices.size()) return;
    const std::vector<Term>& bounds = left.indices[i].bounds;
    if (!bounds.empty() && bounds[1].kind == Term::kName) dim = bounds[1].name;
  });
  return dim;
}

std::string declared_dim(const Statement& s, const HostResults& results,
                         const std::function<const GraphValue*(const std::string&)>& declared) {
  std::string dim;
  each_data_dim(s, results, [&](const Left& left, size_t rank, size_t i) {
    const GraphValue* v = declared(left.name);
    if (!dim.empty() || !v || v->shape.size() != rank) return;
    if (v->shape[i]->op == ir::Op::kDim) dim = v->shape[i]->name;
  });
  return dim;
}

bool state_ranges(Left& left, const std::vector<ir::Expr>& shape) {
  if (left.indices.size() != shape.size()) return false;
  for (size_t i = 0; i < shape.size(); ++i) {
    std::vector<Term>& bounds = left.indices[i].bounds;
    const ir::Expr stated = bounds.empty() ? shape[i] : extent_expr(bounds[1]);
    if (!stated || !equal_index(stated, shape[i])) return false;
    bounds = {whole_term(0), index_term(shape[i])};
  }
  return true;
}

std::string shape_text(const std::vector<ir::Expr>& shape) {
  std::string text;
  for (const ir::Expr& e : shape) text += (text.empty() ? "" : ",") + ir::print(e);
  return text;
}

}  // namespace hone::ops
