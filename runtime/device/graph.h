// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "runtime/device/gpu_program.h"

namespace hone::runtime {

/// Launches that run one after the other, as the driver's graph. Not for several threads at a time.
class LaunchGraph {
 public:
  explicit LaunchGraph(std::shared_ptr<Gpu> gpu) : gpu_(std::move(gpu)) {}
  ~LaunchGraph();
  LaunchGraph(const LaunchGraph&) = delete;
  LaunchGraph& operator=(const LaunchGraph&) = delete;

  /// One launch with its arguments; `blocks` are within the device's limits. None: it is left out.
  struct Item {
    std::shared_ptr<const GpuProgram> program;
    size_t launch = 0;
    std::array<int64_t, 3> blocks{};
    std::vector<int64_t> parameters;
    bool empty() const { return blocks[0] <= 0 || blocks[1] <= 0 || blocks[2] <= 0; }
    bool operator==(const Item&) const = default;
  };

  /// Appends an item; its number.
  size_t add(Item item);
  /// Puts another in its place; one that is the same costs nothing. The driver's graph is changed,
  /// or made again where an item comes or goes.
  Result<Done> set(size_t number, Item item);
  /// Puts all into a stream. The context is the calling thread's.
  Result<Done> launch(void* stream);

  Gpu& gpu() const { return *gpu_; }

 private:
  Result<Done> build();
  void drop();
  jit::CudaNode node_of(Item& item, void** parameters) const;

  std::shared_ptr<Gpu> gpu_;
  std::vector<Item> items_;
  std::vector<void*> nodes_;  ///< per item; null where it is left out
  void* graph_ = nullptr;
  void* executable_ = nullptr;
};

}  // namespace hone::runtime
