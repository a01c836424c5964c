// SPDX-License-Identifier: Apache-2.0
// Copies into shared memory that threads start, commit in groups and wait for. A group lands when
// no thread can go on any more; until then its target is poisoned, and whoever touches it before
// the wait that is for it is at fault.
#pragma once

#include "tests/cuda/emulation_async.h"

namespace emulation {

/// Groups of the copies of a thread.
struct CopyGroups {
  Agent agent = 0;
  uint32_t committed = 0, landed = 0, waited = 0;
  uint32_t filled = 0;                      ///< the last group that is not empty
  std::vector<std::function<void()>> open;  ///< of the group that is not committed yet
};
struct Copies {
  std::map<Agent, CopyGroups> of;  ///< by thread
};

inline CopyGroups& copy_groups() {
  CopyGroups& g = machine<Copies>().of[self().knows.agent];
  if (g.agent != 0) return g;
  g.agent = cluster->order.hire("an asynchronous copy", true);
  self().at_end = [&g, before = self().at_end] {
    if (before) before();
    if (!g.open.empty()) fail("a thread leaves before it commits its asynchronous copies");
    if (g.waited < g.filled) fail("a thread leaves before it waits for its asynchronous copies");
  };
  return g;
}

template <class P, class Q>
void copy_async(P to, Q from, int bytes, int kept) {
  using E = typename P::Element;
  const int64_t count = bytes / static_cast<int64_t>(sizeof(E));
  to.check_aligned(bytes);
  check(to.index, to.buffer->elements, to.buffer->name);
  check(to.index + count - 1, to.buffer->elements, to.buffer->name);
  const E* source = nullptr;
  if (kept > 0) {
    from.check_aligned(bytes);
    const int64_t last = from.index + kept / static_cast<int64_t>(sizeof(E)) - 1;
    check(from.index, from.buffer->elements, from.buffer->name);
    check(last, from.buffer->elements, from.buffer->name);
    source = from.buffer->data + from.index;
    for (int64_t i = from.index; i <= last; ++i) check_unwritten(from.buffer->data + i);
  }
  CopyGroups& g = copy_groups();
  Arena& arena = block->arena;
  const auto at = static_cast<uint32_t>(to.buffer->address(to.index));
  const auto n = static_cast<uint32_t>(bytes);
  Access{{g.agent, g.committed + 1}, self().knows, arena}.write(at, n);
  std::memset(arena.bytes.data() + at, 0xff, n);
  g.open.push_back([&arena, at, n, source, kept] {
    std::memset(arena.bytes.data() + at, 0, n);
    if (kept > 0) std::memcpy(arena.bytes.data() + at, source, static_cast<size_t>(kept));
  });
}

inline void commit_copies() {
  CopyGroups& g = copy_groups();
  ++g.committed;
  if (!g.open.empty()) g.filled = g.committed;
  later([&g, copies = std::move(g.open)] {
    for (const auto& copy : copies) copy();
    ++g.landed;
  });
  g.open.clear();
}

inline void wait_copies(uint32_t left) {
  CopyGroups& g = copy_groups();
  const uint32_t target = g.committed > left ? g.committed - left : 0;
  wait_until([&g, target] { return g.landed >= target; }, [] { return "an asynchronous copy"; });
  g.waited = std::max(g.waited, target);
  learn({g.agent, target});
  self().knows.copied = {g.agent, g.waited};
}

}  // namespace emulation
