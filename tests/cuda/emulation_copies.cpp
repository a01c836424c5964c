// SPDX-License-Identifier: Apache-2.0
#include "tests/cuda/emulation_copies.h"

#include <cstring>

#include "tests/cuda/emulation_groups.h"

namespace emulation {
namespace {

struct Copies {
  std::map<Agent, Groups> of;  ///< by thread
};

Groups& copy_groups() {
  return groups_of<Copies>("an asynchronous copy", "asynchronous copies", true);
}

}  // namespace

void start_async(uint32_t to, const void* from, uint32_t bytes, uint32_t kept) {
  Groups& g = copy_groups();
  Arena& arena = block->arena;
  Access{{g.agent, g.committed + 1}, self().knows, arena}.write(to, bytes);
  std::memset(arena.bytes.data() + to, 0xff, bytes);
  g.open.push_back([&arena, to, bytes, from, kept] {
    std::memset(arena.bytes.data() + to, 0, bytes);
    if (kept > 0) std::memcpy(arena.bytes.data() + to, from, kept);
  });
}

void commit_copies() { commit(copy_groups()); }

void wait_copies(uint32_t left) {
  Groups& g = copy_groups();
  wait_for(g, left);
  self().knows.copied = {g.agent, g.waited};
}

}  // namespace emulation
