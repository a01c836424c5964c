// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>

#include "runtime/engine/engine_state.h"

namespace hone::tests {

/// An engine for a target, and what it tells of defects.
struct Watched {
  std::shared_ptr<runtime::EngineState> engine;
  std::string told;

  explicit Watched(const std::string& target) {
    EngineOptions o;
    o.target = target;
    o.cache = ":memory:";
    o.on_event = [this](const Event& e) {
      if (e.kind == Event::kBug) told += e.text + "\n";
    };
    if (auto made = runtime::EngineState::create(o)) engine = *made;
  }
};

}  // namespace hone::tests
