// SPDX-License-Identifier: Apache-2.0
#include "tests/cuda/emulation_groups.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "tests/cuda/emulation_async.h"
#include "tests/cuda/emulation_place.h"

namespace emulation {
namespace {

struct Stores {
  std::map<Agent, Groups> of;  ///< by thread
};

Groups& store_groups() { return groups_of<Stores>("a bulk store", "bulk stores", false); }

}  // namespace

void commit(Groups& g) {
  ++g.committed;
  if (!g.open.empty()) g.filled = g.committed;
  later([&g, group = std::move(g.open)] {
    for (const auto& work : group) work();
    ++g.landed;
  });
  g.open.clear();
}

void wait_for(Groups& g, uint32_t left) {
  const uint32_t target = g.committed > left ? g.committed - left : 0;
  wait_until([&g, target] { return g.landed >= target; },
             [&g] { return cluster->order.name(g.agent); });
  g.waited = std::max(g.waited, target);
  learn({g.agent, target});
}

void start_store(uint32_t from, uint32_t bytes, std::function<void()> write) {
  const SharedPlace p = locate(from);
  Groups& g = store_groups();
  Access{{g.agent, g.committed + 1}, self().knows, p.owner->arena}.read(p.at, bytes);
  g.open.push_back(std::move(write));
}

void bulk_commit() { commit(store_groups()); }
void bulk_wait(uint32_t left) { wait_for(store_groups(), left); }

}  // namespace emulation
