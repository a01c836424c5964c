// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <memory>
#include <optional>

#include "ops/graph/group.h"
#include "runtime/engine/engine_state.h"
#include "runtime/model/constants.h"

namespace hone::runtime {

/// Gives the kernels of a model their weights while it is loaded. What a kernel of this engine has
/// packed alike is shared with it.
class WeightBinder {
 public:
  /// All outlive this.
  WeightBinder(EngineState& engine, const ops::Graph& graph, const Constants& constants)
      : engine_(engine), graph_(graph), constants_(constants) {}

  /// The weights of a group, bound for its kernel; null: it has none.
  Result<std::shared_ptr<const BoundState>> bind(const ops::Group& group,
                                                 const std::shared_ptr<const KernelState>& kernel);
  /// Of all that was packed here.
  int64_t bytes() const { return bytes_; }

 private:
  const ops::GraphValue& value(int v) const { return graph_.values[static_cast<size_t>(v)]; }
  std::optional<ContentHash> hash_of(int v);
  std::optional<SharedWeights::Contents> contents_of(const ops::Group& group);
  Result<std::shared_ptr<const BoundState>> pack(const ops::Group& group,
                                                 const std::shared_ptr<const KernelState>& kernel);

  EngineState& engine_;
  const ops::Graph& graph_;
  const Constants& constants_;
  std::map<int, std::optional<ContentHash>> hashes_;  ///< by value; none: it is not dense
  int64_t bytes_ = 0;
};

}  // namespace hone::runtime
