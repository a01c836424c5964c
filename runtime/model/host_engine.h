// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "runtime/engine/engine_state.h"

namespace hone::runtime {

/// The engine whose kernels run on tensors of the host while a model is loaded. It is the model's
/// own. Where that has a GPU it is another one, which is made when it is first asked for.
class HostEngine {
 public:
  /// `engine` outlives this.
  explicit HostEngine(EngineState& engine) : engine_(engine) {}

  /// The ops of the model's engine.
  std::shared_ptr<const ops::Library> library() { return engine_.library(); }
  Result<EngineState*> get();

 private:
  EngineState& engine_;
  std::shared_ptr<EngineState> own_;
};

}  // namespace hone::runtime
