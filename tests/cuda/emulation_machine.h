// SPDX-License-Identifier: Apache-2.0
// What works beside the threads, as the emulation's own sources see it.
#pragma once

#include <memory>
#include <string>
#include <typeinfo>

#include "tests/cuda/emulation_block.h"

namespace emulation {

/// The one machine of type T of the blocks that run.
template <class T>
T& machine() {
  std::shared_ptr<void>& slot = cluster->machinery[typeid(T).name()];
  if (!slot) slot = std::make_shared<T>();
  return *static_cast<T*>(slot.get());
}

/// Does `f` once nothing else goes on, for the thread that runs now.
void later(std::function<void()> f);

/// The thread that runs knows from now on that `e` is over.
void learn(Epoch e);

/// Whether all threads of a block have left.
bool gone(const Block& b);

}  // namespace emulation
