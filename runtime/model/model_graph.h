// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "runtime/device/graph.h"
#include "runtime/model/device_steps.h"

namespace hone::runtime {

/// The launches of a model for calls with the same dims in one stream, as one of the driver's
/// graphs. Dims that come once cost no graph: the first call goes launch by launch. Not for several
/// threads at a time.
class ModelGraph {
 public:
  /// For calls such as `steps`.
  ModelGraph(std::shared_ptr<Gpu> gpu, const DeviceSteps& steps);

  bool serves(const DeviceSteps& steps) const;
  /// Puts all steps into the stream. The context is the calling thread's. Once it has failed it is
  /// of no more use.
  Result<Done> launch(const DeviceSteps& steps);

 private:
  bool is_set_for(const DeviceSteps& steps) const;
  Result<Done> set(const DeviceSteps& steps);

  void* stream_;
  std::vector<int64_t> dims_;
  bool met_ = false;    ///< a call has come
  bool built_ = false;  ///< `graph_` has all launches
  ModelPlace place_;    ///< that they have, and
  std::vector<void*> data_;
  LaunchGraph graph_;
};

}  // namespace hone::runtime
