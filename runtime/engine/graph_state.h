// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <vector>

#include "runtime/device/graph.h"
#include "runtime/engine/kernel_state.h"

namespace hone::runtime {

/// The launches of a call on filled slots, in order. The context is the calling thread's.
Result<std::vector<LaunchGraph::Item>> graph_items(const KernelState& k, const int64_t* slots);

/// Calls of kernels as one graph; see DeviceGraph.
struct GraphState {
  explicit GraphState(std::shared_ptr<Gpu> gpu) : graph(std::move(gpu)) {}
  ~GraphState();
  GraphState(const GraphState&) = delete;
  GraphState& operator=(const GraphState&) = delete;

  /// One call: its launches are items of the graph, one after the other.
  struct Call {
    std::shared_ptr<const KernelState> kernel;
    std::shared_ptr<const BoundState> bound;
    uint64_t workspace = 0;  ///< its own, of kernel->workspace_bytes()
    size_t first = 0;        ///< of its launches among the graph's items
  };

  /// Appends (`number` < 0) or changes a call; its number.
  Result<int> put(int number, std::shared_ptr<const KernelState> kernel,
                  std::shared_ptr<const BoundState> bound, std::span<const ArgRef> args);
  Result<Done> launch(void* stream);

  std::vector<Call> calls;
  LaunchGraph graph;
};

}  // namespace hone::runtime
