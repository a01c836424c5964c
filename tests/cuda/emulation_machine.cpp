// SPDX-License-Identifier: Apache-2.0
#include "tests/cuda/emulation_machine.h"

#include <utility>

namespace emulation {

void later(std::function<void()> f) {
  Block* const b = block;
  const size_t t = b->current;
  cluster->landings.push_back([b, t, f = std::move(f)] {
    block = b;
    b->current = t;
    f();
  });
}

void learn(Epoch e) {
  if (e.clock == 0) return;
  Clocks clocks(e.agent + size_t{1});
  clocks[e.agent] = e.clock;
  self().knows.learn({std::make_shared<const Clocks>(std::move(clocks)), nullptr},
                     cluster->order.join);
}

bool gone(const Block& b) {
  for (const Fiber& f : b.fibers) {
    if (f.wait != Wait::kDone) return false;
  }
  return true;
}

}  // namespace emulation
