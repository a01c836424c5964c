// SPDX-License-Identifier: Apache-2.0
#include "runtime/model/host_engine.h"

namespace hone::runtime {

Result<EngineState*> HostEngine::get() {
  if (!engine_.services->gpu()) return &engine_;
  if (own_) return own_.get();
  EngineOptions options;
  options.cache = ":memory:";
  options.threads = engine_.options.threads;
  options.pool = engine_.options.pool;
  options.on_event = engine_.options.on_event;
  auto made = EngineState::create(std::move(options));
  if (!made) return made.failure();
  own_ = *std::move(made);
  return own_.get();
}

}  // namespace hone::runtime
