// SPDX-License-Identifier: Apache-2.0
#include "runtime/model/host_steps.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <new>

#include "ops/graph/extent_range.h"
#include "ops/graph/host_use.h"
#include "runtime/fine.h"
#include "runtime/model/arguments.h"

namespace hone::runtime {
namespace {

/// Fixed by: the functions of the table.
constexpr size_t kMostHostReads = 5, kMostHostMakes = 4;

/// The tensors that a function reads, without memory of the heap.
class HostReads {
 public:
  HostReads(const ModelArguments& call, const ModelHost& host, std::byte* block)
      : count_(host.reads.size()) {
    for (size_t i = 0; i < count_; ++i) {
      new (room_ + i * sizeof(TensorRef))
          TensorRef(host.weights[i] ? *host.weights[i] : call.tensor(host.reads[i], block));
    }
  }
  std::span<const TensorRef> span() const {
    return {std::launder(reinterpret_cast<const TensorRef*>(room_)), count_};
  }

 private:
  alignas(TensorRef) std::byte room_[kMostHostReads * sizeof(TensorRef)];
  size_t count_;
};

/// Sizes made of a dim that data tell, such as `n - 1`, may have no meaning.
Result<Done> check_extents(const ModelHost& host, std::span<const TensorRef> reads) {
  for (size_t i = 0; i < reads.size(); ++i) {
    for (int d = 0; d < reads[i].rank(); ++d) {
      if (reads[i].extent(d) >= 0) continue;
      return in_host(host.use,
                     {ErrorCode::kArgument, fmt::format("dim {} of argument {} is {} in this call",
                                                        d, i, reads[i].extent(d))});
    }
  }
  return fine();
}

}  // namespace

Failure in_host(const std::string& use, Failure failure) {
  failure.message = fmt::format("in `{}`: {}", use, failure.message);
  return failure;
}

Result<ModelHost> make_host(const ops::Graph& graph, const ops::GraphNode& node,
                            const std::vector<ir::Dim>& dims, size_t before) {
  ModelHost out{node.host->function, node.host->numbers, node.reads, node.makes};
  out.before = before;
  out.weights.resize(node.reads.size());
  out.use = print(node.use);
  std::vector<std::vector<int64_t>> extents;
  for (const int v : node.reads) {
    extents.emplace_back();
    for (const ir::Expr& e : graph.values[static_cast<size_t>(v)].shape) {
      const auto range = ops::range_of_extent(e, dims);
      extents.back().push_back(range ? std::max<int64_t>(range->hi, 0) : -1);
    }
  }
  out.scratch = out.function->scratch(extents, out.numbers);
  const auto dim = std::find_if(dims.begin(), dims.end(),
                                [&](const ir::Dim& d) { return d.name == node.host->dim; });
  out.least = dim->lo;
  out.most = dim->hi;
  if (out.scratch >= 0) return out;
  return in_host(out.use, {ErrorCode::kMemory, "it takes more than all memory"});
}

int64_t keep_weight(ModelHost& host, size_t read, const TensorRef& weight) {
  std::array<int64_t, TensorRef::kMaxRank> extents;
  for (int i = 0; i < weight.rank(); ++i) extents[static_cast<size_t>(i)] = weight.extent(i);
  const std::span<const int64_t> shape(extents.data(), static_cast<size_t>(weight.rank()));
  const int64_t bytes = dense_bytes(weight.type(), shape);
  const std::shared_ptr<std::byte[]> copy(new std::byte[static_cast<size_t>(bytes)]);
  if (bytes > 0) std::memcpy(copy.get(), weight.data(), static_cast<size_t>(bytes));
  host.weights[read].emplace(static_cast<const void*>(copy.get()), weight.type(), shape);
  host.kept.push_back(copy);
  return bytes;
}

ModelHostStep host_step_of(const ops::Graph& graph, const ops::GraphNode& node,
                           const ModelHost& host) {
  ModelHostStep step{node.op.name(), {}, {}, node.host->dim, host.most, host.before};
  const auto name = [&](int v) { return graph.values[static_cast<size_t>(v)].name; };
  for (const int v : node.reads) step.reads.push_back(name(v));
  for (const int v : node.makes) step.makes.push_back(v < 0 ? "_" : name(v));
  return step;
}

bool names_data_dim(const ModelState& model, const ir::Expr& extent) {
  const auto dims = std::span(model.dims).subspan(model.told);
  return std::any_of(dims.begin(), dims.end(),
                     [&](const ir::Dim& d) { return ops::names_dim(extent, d.name); });
}

void settle_outputs(ModelState& model) {
  for (size_t i = 0; i < model.given.size(); ++i) {
    if (!model.given[i].written) continue;
    ModelHost* last = nullptr;
    for (ModelHost& host : model.hosts) {
      if (host.dim < 0) continue;
      const std::string& dim = model.dims[static_cast<size_t>(host.dim)].name;
      const auto& shape = model.values[static_cast<size_t>(model.given[i].value)].shape;
      const bool named = std::any_of(shape.begin(), shape.end(),
                                     [&](const ir::Expr& e) { return ops::names_dim(e, dim); });
      if (named) last = &host;
    }
    if (last) last->settles.push_back(i);
  }
}

std::vector<TouchedValues> touched_values(const ModelState& model) {
  std::vector<TouchedValues> out;
  auto host = model.hosts.begin();
  const auto add_hosts = [&](int before) {
    for (; host != model.hosts.end() && host->before == static_cast<size_t>(before); ++host) {
      TouchedValues& at = out.emplace_back();
      at.first = at.last = before;
      for (size_t i = 0; i < host->reads.size(); ++i) {
        if (!host->weights[i]) at.values.push_back(host->reads[i]);
      }
      std::copy_if(host->makes.begin(), host->makes.end(), std::back_inserter(at.values),
                   [](int v) { return v >= 0; });
    }
  };
  for (const ModelWave& wave : model.waves) {
    add_hosts(wave.first);
    TouchedValues& at = out.emplace_back();
    at.first = wave.first;
    at.last = wave.first + wave.count - 1;
    for (int i = at.first; i <= at.last; ++i) {
      const std::vector<int>& args = model.calls[static_cast<size_t>(i)].args;
      at.values.insert(at.values.end(), args.begin(), args.end());
    }
  }
  add_hosts(static_cast<int>(model.calls.size()));
  return out;
}

int64_t most_workspace(const ModelState& model) {
  int64_t most = 0;
  for (const ModelWave& wave : model.waves) {
    most = std::max(most, std::min(wave.count, wave.workers) * wave.workspace);
  }
  for (const ModelHost& host : model.hosts) most = std::max(most, host.scratch);
  return most;
}

Result<int64_t> count_of(const ops::HostFunction& function, const ops::HostCall& call,
                         int64_t least, int64_t most) {
  auto count = function.count(call);
  if (!count || (*count >= least && *count <= most)) return count;
  return Failure{ErrorCode::kArgument,
                 fmt::format("its data tell {}; the dim was bound to {}{}", *count, least,
                             least == most ? "" : fmt::format("..{}", most))};
}

Result<Done> run_host(ModelArguments& call, const ModelHost& host, std::byte* block,
                      std::span<std::byte> scratch) {
  const HostReads reads(call, host, block);
  if (auto f = check_extents(host, reads.span()); !f) return f.failure();
  const ops::HostCall one{reads.span(), host.numbers, scratch};
  const auto count = count_of(*host.function, one, host.least, host.most);
  if (!count) return in_host(host.use, count.failure());
  if (host.dim >= 0) call.tell(host.dim, *count);
  for (const size_t given : host.settles) {
    if (auto f = call.check_room(given); !f) return in_host(host.use, f.failure());
  }
  std::array<void*, kMostHostMakes> results{};
  for (size_t k = 0; k < host.makes.size(); ++k) {
    if (host.makes[k] < 0) continue;
    results[k] = const_cast<void*>(call.tensor(host.makes[k], block).data());
  }
  host.function->write(one, *count, {results.data(), host.makes.size()});
  return fine();
}

}  // namespace hone::runtime
