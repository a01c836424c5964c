// SPDX-License-Identifier: Apache-2.0
#include "runtime/model/constants.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "ops/graph/extent_range.h"
#include "ops/graph/group.h"
#include "ops/graph/passes.h"
#include "ops/graph/reading.h"
#include "runtime/engine/kernel_state.h"
#include "runtime/model/host_steps.h"
#include "runtime/model/model_state.h"

namespace hone::runtime {
namespace {

/// Bytes that a computed constant may have beyond those that it is made from.
/// Chosen: a table that indices tell may well be computed once (not measured).
constexpr int64_t kMostMore = int64_t{1} << 20;
/// Fixed by: a cache line.
constexpr size_t kLineBytes = 64;

const ops::GraphValue& value_of(const ops::Graph& graph, int v) {
  return graph.values[static_cast<size_t>(v)];
}

/// The extents of a value; nothing where calls tell them.
std::optional<std::vector<int64_t>> fixed_extents(const ops::GraphValue& v,
                                                  const std::vector<ir::Dim>& dims) {
  std::vector<int64_t> extents;
  for (const ir::Expr& extent : v.shape) {
    int64_t n = 0;
    if (!ir::is_const(ops::with_fixed_dims(extent, dims), &n)) return {};
    extents.push_back(n);
  }
  return extents;
}

bool is_dense(const TensorRef& t, const std::vector<int64_t>& extents) {
  const TensorRef dense(t.data(), t.type(), extents);
  if (t.rank() != dense.rank()) return false;
  for (int i = 0; i < t.rank(); ++i) {
    if (t.extent(i) != dense.extent(i) || t.stride(i) != dense.stride(i)) return false;
  }
  return true;
}

}  // namespace

Result<Constants> Constants::take(const ops::Graph& graph, const ModelOptions& options) {
  Constants out;
  std::string wrong;
  for (const NamedTensor& w : options.weights) {
    const int v = graph.find(w.name);
    if (v < 0 || value_of(graph, v).kind != ops::GraphValue::kConstant) {
      wrong += fmt::format("\n  there is no weight `{}`", w.name);
    } else if (!out.tensors_.emplace(v, w.tensor).second) {
      wrong += fmt::format("\n  `{}` is given twice", w.name);
    }
  }
  for (size_t v = 0; v < graph.values.size(); ++v) {
    const ops::GraphValue& w = graph.values[v];
    if (w.kind != ops::GraphValue::kConstant || out.tensors_.contains(static_cast<int>(v))) {
      continue;
    }
    wrong += fmt::format("\n  the weight `{}` is missing", w.name);
  }
  if (wrong.empty()) return out;
  return Failure{ErrorCode::kArgument, fmt::format("weights of `{}`:{}", graph.name, wrong)};
}

std::optional<std::span<const std::byte>> Constants::bytes(int v) const {
  const TensorRef& t = at(v);
  std::vector<int64_t> extents;
  for (int i = 0; i < t.rank(); ++i) extents.push_back(t.extent(i));
  if (!is_dense(t, extents)) return {};
  return std::span(static_cast<const std::byte*>(t.data()),
                   static_cast<size_t>(dense_bytes(t.type(), extents)));
}

ops::KnownBytes Constants::known_bytes(const ops::Graph& graph) const {
  ops::KnownBytes out(graph.values.size());
  for (const auto& [v, t] : tensors_) {
    const bool byte = t.type() == DType::kI8 || t.type() == DType::kU8;
    if (!byte || t.rank() > 1 || t.count() > kMostMore || t.count() == 0) continue;
    const int64_t step = t.rank() == 1 ? t.stride(0) : 1;
    const auto* data = static_cast<const uint8_t*>(t.data());
    bool one = true;
    for (int64_t i = 1; i < t.count(); ++i) one &= data[i * step] == data[0];
    if (one) {
      out[static_cast<size_t>(v)] =
          t.type() == DType::kI8 ? static_cast<int8_t>(data[0]) : static_cast<int>(data[0]);
    }
  }
  return out;
}

bool Constants::folds(const ops::Graph& graph, const ops::GraphNode& node,
                      const std::vector<ir::Dim>& dims) const {
  int64_t read = 0, made = 0;
  for (const int v : node.reads) {
    const auto extents = fixed_extents(value_of(graph, v), dims);
    if (value_of(graph, v).kind != ops::GraphValue::kConstant || !extents) return false;
    read += dense_bytes(value_of(graph, v).type, *extents);
  }
  for (const int v : node.makes) {
    if (v < 0 || value_of(graph, v).output) return false;
    const auto extents = fixed_extents(value_of(graph, v), dims);
    if (!extents) return false;
    made += dense_bytes(value_of(graph, v).type, *extents);
  }
  return made <= read + kMostMore;
}

Result<TensorRef> Constants::dense(const ops::Graph& graph, int v,
                                   const std::vector<ir::Dim>& dims) {
  const TensorRef& t = at(v);
  const ops::GraphValue& value = value_of(graph, v);
  const auto extents = fixed_extents(value, dims);
  if (!extents) {
    return Failure{ErrorCode::kUnsupported,
                   fmt::format("`{}` is a weight whose extents calls tell", value.name)};
  }
  const TensorRef whole(t.data(), value.type, *extents);
  bool fits = t.type() == value.type && t.count() == whole.count();
  for (int i = 0; fits && i < t.rank(); ++i) {
    fits = t.rank() == whole.rank() && t.extent(i) == whole.extent(i);
  }
  if (!fits) {
    return Failure{ErrorCode::kArgument,
                   fmt::format("the weight `{}` is {}[{}]; another type or shape is given",
                               value.name, name_of(value.type), fmt::join(*extents, ","))};
  }
  if (t.rank() == TensorRef::kFlat || is_dense(t, *extents)) return whole;
  const TensorRef copy = make(value, dims);
  const auto bytes = static_cast<size_t>(size_of(value.type));
  auto* to = static_cast<std::byte*>(const_cast<void*>(copy.data()));
  for (int64_t k = 0; k < copy.count(); ++k) {
    int64_t place = 0, rest = k;
    for (int d = t.rank() - 1; d >= 0; --d) {
      place += rest % t.extent(d) * t.stride(d);
      rest /= t.extent(d);
    }
    std::memcpy(to, static_cast<const std::byte*>(t.data()) + place * static_cast<int64_t>(bytes),
                bytes);
    to += bytes;
  }
  return copy;
}

/// Memory for a value of known extents.
TensorRef Constants::make(const ops::GraphValue& v, const std::vector<ir::Dim>& dims) {
  const auto extents = fixed_extents(v, dims);
  const auto bytes = static_cast<size_t>(dense_bytes(v.type, *extents));
  return TensorRef(take(bytes), v.type, *extents);
}

/// Bytes that live as long as this, at a multiple of 64.
void* Constants::take(size_t bytes) {
  made_.push_back(std::make_unique<std::byte[]>(bytes + kLineBytes));
  void* data = made_.back().get();
  size_t room = bytes + kLineBytes;
  return std::align(kLineBytes, bytes, data, room);
}

Result<bool> Constants::compute_host(const ops::Graph& graph, const ops::GraphNode& node,
                                     std::vector<ir::Dim>& dims) {
  std::vector<TensorRef> reads;
  for (const int v : node.reads) {
    if (value_of(graph, v).kind != ops::GraphValue::kConstant) return false;
    if (!fixed_extents(value_of(graph, v), dims)) return false;
    const auto read = dense(graph, v, dims);
    if (!read) return read.failure();
    reads.push_back(*read);
  }
  for (const int v : node.makes) {
    if (v >= 0 && value_of(graph, v).output) return false;
  }
  auto step = make_host(graph, node, dims, 0);
  if (!step) return step.failure();
  const auto room = static_cast<size_t>(step->scratch);
  const std::span<std::byte> scratch(static_cast<std::byte*>(take(room)), room);
  const ops::HostCall call{reads, step->numbers, scratch};
  const auto count = count_of(*step->function, call, step->least, step->most);
  if (!count) return count.failure();
  for (ir::Dim& d : dims) {
    if (d.name == node.host->dim) d.lo = d.hi = *count;
  }
  std::vector<void*> results;
  for (const int v : node.makes) {
    results.push_back(nullptr);
    if (v < 0) continue;
    const TensorRef made = make(value_of(graph, v), dims);
    tensors_.emplace(v, made);
    results.back() = const_cast<void*>(made.data());
  }
  step->function->write(call, *count, results);
  return true;
}

Result<bool> Constants::compute(const ops::Graph& graph, int n, const std::vector<ir::Dim>& dims,
                                HostEngine& host) {
  const ops::GraphNode& node = graph.nodes[static_cast<size_t>(n)];
  if (ops::is_view(graph, node, dims)) {
    const ops::GraphValue &in = value_of(graph, node.reads[0]),
                          &out = value_of(graph, node.makes[0]);
    const TensorRef& t = at(node.reads[0]);
    if (is_dense(t, *fixed_extents(in, dims))) {
      tensors_.emplace(node.makes[0], TensorRef(t.data(), t.type(), *fixed_extents(out, dims)));
      return true;
    }
  }
  std::shared_ptr<const ops::Library> library = host.library();
  ops::GroupOps ops(library.get());
  const auto group = ops::make_group(graph, {n}, dims, ops);
  if (!group) return false;
  const auto engine = host.get();
  if (!engine) return engine.failure();
  const auto kernel = (*engine)->compile(Result<ops::Problem>(group->problem), CompileOptions());
  if (!kernel) return false;
  std::shared_ptr<const BoundState> bound;
  for (size_t i = 0; i < group->reads.size(); ++i) {
    auto more = bind_constant(*kernel, bound ? *bound : BoundState(),
                              (*kernel)->plan.params[i].name, at(group->reads[i]));
    if (!more) return more.failure();
    bound = std::move(*more);
  }
  std::vector<TensorRef> results;
  std::vector<ArgRef> args;
  for (const int v : group->makes) results.push_back(make(value_of(graph, v), dims));
  for (const TensorRef& t : results) args.emplace_back(t);
  if (auto f = (*kernel)->call(args, CallOptions(), bound.get()); !f) return f.failure();
  for (size_t i = 0; i < results.size(); ++i) tensors_.emplace(group->makes[i], results[i]);
  return true;
}

Result<ops::Graph> Constants::fold(ops::Graph graph, std::vector<ir::Dim>& dims, HostEngine& host) {
  std::vector<bool> keeps(graph.nodes.size(), true);
  for (size_t n = 0; n < graph.nodes.size(); ++n) {
    const ops::GraphNode& node = graph.nodes[n];
    if (!node.host && !folds(graph, node, dims)) continue;
    const auto done = node.host ? compute_host(graph, node, dims)
                                : compute(graph, static_cast<int>(n), dims, host);
    if (!done) {
      return Failure{done.failure().code,
                     fmt::format("in `{}`: {}", print(graph.nodes[n].use), done.failure().message)};
    }
    if (!*done) continue;
    keeps[n] = false;
    for (const int v : node.makes) {
      if (v < 0) continue;
      graph.values[static_cast<size_t>(v)].kind = ops::GraphValue::kConstant;
    }
  }
  return ops::with_nodes(std::move(graph), keeps);
}

}  // namespace hone::runtime
