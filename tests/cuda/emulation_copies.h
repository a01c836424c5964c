// SPDX-License-Identifier: Apache-2.0
// Copies into shared memory that threads start, commit in groups and wait for. A group lands when
// no thread can go on any more; until then its target is poisoned, and whoever touches it before
// the wait that is for it is at fault.
#pragma once

#include "tests/cuda/emulation_async.h"

namespace emulation {

struct Copies {
  std::map<Agent, Groups> of;  ///< by thread
};

inline Groups& copy_groups() {
  return groups_of<Copies>("an asynchronous copy", "asynchronous copies", true);
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
  Groups& g = copy_groups();
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

inline void commit_copies() { commit(copy_groups()); }

inline void wait_copies(uint32_t left) {
  Groups& g = copy_groups();
  wait_for(g, left);
  self().knows.copied = {g.agent, g.waited};
}

}  // namespace emulation
