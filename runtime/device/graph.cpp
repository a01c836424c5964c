// SPDX-License-Identifier: Apache-2.0
#include "runtime/device/graph.h"

#include "runtime/fine.h"

namespace hone::runtime {

LaunchGraph::~LaunchGraph() {
  if (gpu_->lost()) return;
  const UseGpu use(*gpu_);
  drop();
}

void LaunchGraph::drop() {
  if (executable_) gpu_->driver().graph_executable_destroy(executable_);
  if (graph_) gpu_->driver().graph_destroy(graph_);
  executable_ = graph_ = nullptr;
  nodes_.clear();
}

/// The driver copies what `parameters` points to.
jit::CudaNode LaunchGraph::node_of(Item& item, void** parameters) const {
  const GpuLaunch& l = item.program->launches()[item.launch];
  parameters[0] = item.parameters.data();
  jit::CudaNode node;
  node.function = l.function;
  node.grid_x = static_cast<unsigned>(item.blocks[0]);
  node.grid_y = static_cast<unsigned>(item.blocks[1]);
  node.grid_z = static_cast<unsigned>(item.blocks[2]);
  node.block_x = l.threads[0];
  node.block_y = l.threads[1];
  node.block_z = l.threads[2];
  node.shared_bytes = l.dynamic_bytes;
  node.parameters = parameters;
  return node;
}

size_t LaunchGraph::add(Item item) {
  if (executable_) drop();
  items_.push_back(std::move(item));
  return items_.size() - 1;
}

Result<Done> LaunchGraph::set(size_t number, Item item) {
  if (items_[number] == item) return Done{};
  const bool same = items_[number].empty() == item.empty();
  items_[number] = std::move(item);
  if (!executable_) return Done{};
  if (!same) {
    drop();
    return Done{};
  }
  if (items_[number].empty()) return Done{};
  void* parameters[1];
  const jit::CudaNode node = node_of(items_[number], parameters);
  const int error = gpu_->driver().graph_set_kernel(executable_, nodes_[number], &node);
  if (error == 0) return Done{};
  if (jit::CudaDriver::loses_context(error)) {
    return gpu_->failed(error, "changing a graph's arguments");
  }
  // The old arguments are still in there; the next launch makes the graph from the items.
  drop();
  return Done{};
}

Result<Done> LaunchGraph::build() {
  const jit::CudaDriver& driver = gpu_->driver();
  int error = driver.graph_create(&graph_, 0);
  void* before = nullptr;
  nodes_.assign(items_.size(), nullptr);
  for (size_t i = 0; i < items_.size() && error == 0; ++i) {
    if (items_[i].empty()) continue;
    void* parameters[1];
    const jit::CudaNode node = node_of(items_[i], parameters);
    error = driver.graph_add_kernel(&nodes_[i], graph_, &before, before ? 1 : 0, &node);
    before = nodes_[i];
  }
  if (error == 0) error = driver.graph_instantiate(&executable_, graph_, 0);
  if (error == 0) return Done{};
  drop();
  return gpu_->failed(error, "making a graph");
}

Result<Done> LaunchGraph::launch(void* stream) {
  if (!executable_) {
    if (auto f = build(); !f) return f.failure();
  }
  const int error = gpu_->driver().graph_launch(executable_, stream);
  return error == 0 ? fine() : gpu_->failed(error, "launching a graph");
}

}  // namespace hone::runtime
