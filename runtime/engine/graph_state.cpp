// SPDX-License-Identifier: Apache-2.0
#include "runtime/engine/graph_state.h"

#include <fmt/format.h>

#include "include/hone/device.h"
#include "runtime/engine/failure.h"
#include "runtime/engine/gpu_kernel.h"

namespace hone {
namespace runtime {
namespace {

Failure wrong_graph_state(std::string message) {
  return Failure{ErrorCode::kArgument, std::move(message)};
}

}  // namespace

Result<std::vector<LaunchGraph::Item>> graph_items(const KernelState& k, const int64_t* slots) {
  const std::span<const int64_t> dims{
      slots + (k.layout.dim_slots.empty() ? 0 : k.layout.dim_slots[0]), k.plan.dims.size()};
  std::vector<LaunchGraph::Item> items;
  for (const LaunchPlan& l : k.launches) {
    LaunchGraph::Item item{k.gpu->program, static_cast<size_t>(l.index), {}, {}};
    if (!k.gpu->program->blocks_of(item.launch, dims, &item.blocks)) {
      return k.gpu->program->too_many(item.launch, item.blocks);
    }
    auto parameters = k.gpu->program->parameters(item.launch, slots, dims);
    if (!parameters) return parameters.failure();
    item.parameters = std::move(*parameters);
    items.push_back(std::move(item));
  }
  return items;
}

GraphState::~GraphState() {
  for (const Call& c : calls) {
    if (c.workspace) graph.gpu().memory().release(c.workspace, c.kernel->workspace_bytes());
  }
}

Result<int> GraphState::put(int number, std::shared_ptr<const KernelState> kernel,
                            std::shared_ptr<const BoundState> bound, std::span<const ArgRef> args) {
  Gpu& gpu = graph.gpu();
  if (gpu.lost()) return gpu.why_lost();
  if (!kernel->gpu || &kernel->gpu->gpu() != &gpu) {
    return wrong_graph_state(
        fmt::format("`{}` is not a kernel of the graph's GPU and engine", kernel->problem));
  }
  const bool fresh = number < 0;
  if (!fresh && (static_cast<size_t>(number) >= calls.size() ||
                 calls[static_cast<size_t>(number)].kernel != kernel)) {
    return wrong_graph_state(
        fmt::format("call {} of the graph is not one of `{}`", number, kernel->problem));
  }
  // Tensor maps are made in it.
  const UseGpu use(gpu);
  if (use.error() != 0) return gpu.failed(use.error(), "using the GPU's context");
  int64_t slots[kMaxSlots];
  if (auto f = kernel->fill(args, bound.get(), slots); !f) return f.failure();
  uint64_t workspace = fresh ? 0 : calls[static_cast<size_t>(number)].workspace;
  if (fresh && kernel->workspace_bytes() > 0) {
    auto block = gpu.memory().hold(kernel->workspace_bytes());
    if (!block) return block.failure();
    workspace = *block;
  }
  slots[ir::ArgsLayout::kStatus] = static_cast<int64_t>(kernel->gpu->shared_status());
  slots[ir::ArgsLayout::kWorkspace] = static_cast<int64_t>(workspace);
  if (fresh) {
    number = static_cast<int>(calls.size());
    calls.push_back({kernel, nullptr, workspace, 0});
  }
  auto items = graph_items(*kernel, slots);
  if (!items) {
    if (fresh) {
      if (workspace) gpu.memory().release(workspace, kernel->workspace_bytes());
      calls.pop_back();
    }
    return items.failure();
  }
  Call& call = calls[static_cast<size_t>(number)];
  call.bound = std::move(bound);
  for (size_t i = 0; i < items->size(); ++i) {
    if (fresh) {
      const size_t at = graph.add(std::move((*items)[i]));
      if (i == 0) call.first = at;
    } else if (auto f = graph.set(call.first + i, std::move((*items)[i])); !f) {
      return f.failure();
    }
  }
  return number;
}

Result<Done> GraphState::launch(void* stream) {
  Gpu& gpu = graph.gpu();
  if (gpu.lost()) return gpu.why_lost();
  const UseGpu use(gpu);
  if (use.error() != 0) return gpu.failed(use.error(), "using the GPU's context");
  return graph.launch(stream);
}

}  // namespace runtime

Result<int> DeviceGraph::try_put(int number, const Kernel& kernel, std::span<const ArgRef> args) {
  return state_->put(number, kernel.state_, nullptr, args);
}

Result<int> DeviceGraph::try_put(int number, const Bound& kernel, std::span<const ArgRef> args) {
  return state_->put(number, kernel.kernel_.state_, kernel.state_, args);
}

int DeviceGraph::put(int number, const Kernel& kernel, std::span<const ArgRef> args) {
  return runtime::value_or_raise(try_put(number, kernel, args));
}

int DeviceGraph::put(int number, const Bound& kernel, std::span<const ArgRef> args) {
  return runtime::value_or_raise(try_put(number, kernel, args));
}

Result<Done> DeviceGraph::try_launch(void* stream) {
  auto f = state_->launch(stream);
  if (!f) return f.failure();
  return Done{};
}

void DeviceGraph::launch(void* stream) { runtime::value_or_raise(try_launch(stream)); }

}  // namespace hone
