// SPDX-License-Identifier: Apache-2.0
// Groups of copies that threads commit and wait for.
#pragma once

#include "tests/cuda/emulation_machine.h"

namespace emulation {

/// What a thread started beside itself and commits and waits for in groups.
struct Groups {
  Agent agent = 0;
  uint32_t committed = 0, landed = 0, waited = 0;
  uint32_t filled = 0;                      ///< the last group that is not empty
  std::vector<std::function<void()>> open;  ///< of the group that is not committed yet
};

/// The groups of the thread that runs, of what `one` is; `all` is what it is called where it must
/// be over when the thread leaves. Each thread's are `T::of[its agent]`.
template <class T>
Groups& groups_of(const char* one, const char* all, bool generic) {
  Groups& g = machine<T>().of[self().knows.agent];
  if (g.agent != 0) return g;
  g.agent = cluster->order.hire(one, generic);
  self().at_end = [&g, all, before = self().at_end] {
    if (before) before();
    if (!g.open.empty()) fail(std::string("a thread leaves before it commits its ") + all);
    if (g.waited < g.filled) fail(std::string("a thread leaves before it waits for its ") + all);
  };
  return g;
}

void commit(Groups& g);

/// Until all groups but the last `left` are over.
void wait_for(Groups& g, uint32_t left);

/// Starts a store of shared memory, which `write` does.
void start_store(uint32_t from, uint32_t bytes, std::function<void()> write);

}  // namespace emulation
