// SPDX-License-Identifier: Apache-2.0
#include "tests/cuda/emulation_block.h"

#include <utility>

namespace emulation {

void fail(const std::string& text) {
  const Dim3 t = thread_index(), b = block->index;
  throw Fault{text + " (thread " + std::to_string(t.x) + "," + std::to_string(t.y) + "," +
              std::to_string(t.z) + " of block " + std::to_string(b.x) + "," + std::to_string(b.y) +
              "," + std::to_string(b.z) + ")"};
}

void fail_outside(int64_t i, int64_t n, const char* name) {
  fail(std::string(name) + "[" + std::to_string(i) + "] is outside its " + std::to_string(n) +
       " elements");
}

void wait(Wait what) {
  Fiber& f = self();
  f.wait = what;
  swapcontext(&f.context, &cluster->scheduler);
}

void wait_until(std::function<bool()> ready, std::function<std::string()> waits_for) {
  if (ready()) return;
  self().ready = std::move(ready);
  self().waits_for = std::move(waits_for);
  wait(Wait::kCondition);
}

void together(Together f, void* part) {
  self().together = f;
  self().part = part;
  wait(Wait::kTogether);
}

uint64_t arrive(Meeting& m, size_t expected, bool releases) {
  m.expected = expected;
  if (releases) {
    m.gathering.add(self().knows);
  } else {
    m.gathering.add_made(self().knows);
  }
  const uint64_t round = m.round;
  if (++m.arrived == expected) {
    m.message = m.gathering.take();
    m.arrived = 0;
    ++m.round;
  }
  return round;
}

void meet(Meeting& m, uint64_t round) {
  self().ready = [&m, round] { return m.round > round; };
  self().waits_for = nullptr;
  wait(Wait::kCondition);
  self().knows.learn(m.message, cluster->order.join);
}

void block_barrier() {
  Meeting& m = block->meetings[0];
  const uint64_t round = arrive(m, block->fibers.size());
  const bool alone = cluster->blocks.size() == 1 && cluster->order.hired.empty();
  if (alone && m.round > round) cluster->order.readers.forget();
  meet(m, round);
}

}  // namespace emulation
