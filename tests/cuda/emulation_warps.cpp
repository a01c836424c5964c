// SPDX-License-Identifier: Apache-2.0
#include "tests/cuda/emulation_warps.h"

#include <algorithm>
#include <map>

#include "tests/cuda/emulation_machine.h"
#include "tests/cuda/emulation_place.h"

namespace emulation {
namespace {

constexpr int kWarpMeetings = 1000;  ///< numbers past those of the barriers that have one

template <bool kTransposed>
void store_matrices_of(void* const* parts) {
  const size_t first = block->current;
  for (size_t lane = 0; lane < 32; ++lane) {
    block->current = first + lane;
    for (size_t i = 0; i < 8; ++i) {
      const size_t far = lane / 4, near = lane % 4 * 2 + i % 2;
      const size_t row = kTransposed ? near : far, column = kTransposed ? far : near;
      const auto address = static_cast<MatrixPart*>(parts[i / 2 * 8 + row])->address;
      const SharedPlace p = locate(address);
      check_multiple(p.at, 16, "a matrix's row in shared memory");
      write_shared(p.owner->arena, p.at + static_cast<uint32_t>(2 * column),
                   &static_cast<MatrixPart*>(parts[lane])->halves[i / 2][i % 2], 2);
    }
  }
  block->current = first;
}

/// Counts the thread in at barrier `id` for so many threads.
uint64_t arrive_at(uint32_t id, uint32_t threads) {
  if (id > 15) fail("barrier " + std::to_string(id) + " is none of the 16 of a block");
  if (threads == 0 || threads % 32 || threads > block->fibers.size()) {
    fail("barrier " + std::to_string(id) + " is for " + std::to_string(threads) + " of " +
         std::to_string(block->fibers.size()) + " threads, which are no whole warps of them");
  }
  Meeting& m = block->meetings[static_cast<int>(id)];
  if (m.arrived && m.expected != threads) {
    fail("barrier " + std::to_string(id) + " is for " + std::to_string(m.expected) + " and for " +
         std::to_string(threads) + " threads");
  }
  return arrive(m, threads);
}

/// Rounds of the cluster's barrier that threads arrived for.
struct ClusterRounds {
  std::map<Agent, uint64_t> of;
};

/// Registers that warps of a block gave back, and what each has for a thread.
struct RegisterPool {
  uint32_t launched = 0;
  int64_t free = 0;
  std::map<size_t, uint32_t> of;  ///< by warp; others have what they were launched with
};
struct RegisterPools {
  std::map<uint32_t, RegisterPool> of;  ///< by block
};

}  // namespace

void warp_barrier() {
  Meeting& m = block->meetings[kWarpMeetings + static_cast<int>(block->current / 32)];
  const size_t first = block->current / 32 * 32;
  meet(m, arrive(m, std::min<size_t>(32, block->fibers.size() - first)));
}

bool elect_one() {
  self().lane = static_cast<int>(block->current % 32);
  wait(Wait::kShuffle);
  return block->current % 32 == 0;
}

void store_matrices(MatrixPart& part, bool transposed) {
  together(transposed ? store_matrices_of<true> : store_matrices_of<false>, &part);
}

void barrier_arrive(uint32_t id, uint32_t threads) { arrive_at(id, threads); }

void barrier_sync(uint32_t id, uint32_t threads) {
  const uint64_t round = arrive_at(id, threads);
  Meeting& m = block->meetings[static_cast<int>(id)];
  wait_until([&m, round] { return m.round > round; },
             [&m, id] {
               return "barrier " + std::to_string(id) + ", which " + std::to_string(m.arrived) +
                      " of " + std::to_string(m.expected) + " reach";
             });
  self().knows.learn(m.message, cluster->order.join);
}

void cluster_arrive(bool releases) {
  size_t all = 0;
  for (const Block& b : cluster->blocks) all += b.fibers.size();
  auto& rounds = machine<ClusterRounds>().of;
  const uint64_t round = arrive(cluster->meeting, all, releases);
  if (!rounds.insert({self().knows.agent, round}).second) {
    fail("a thread arrives twice at the cluster's barrier");
  }
}

void cluster_wait() {
  auto& rounds = machine<ClusterRounds>().of;
  const auto found = rounds.find(self().knows.agent);
  if (found == rounds.end()) fail("a thread waits at the cluster's barrier and did not arrive");
  const uint64_t round = found->second;
  rounds.erase(found);
  Meeting& m = cluster->meeting;
  wait_until([&m, round] { return m.round > round; },
             [&m] {
               return "the cluster's barrier, which " + std::to_string(m.arrived) + " of " +
                      std::to_string(m.expected) + " reach";
             });
  self().knows.learn(m.message, cluster->order.join);
}

uint32_t load_cluster(uint32_t address) {
  const SharedPlace p = locate(address);
  check_multiple(p.at, 4, "a word of shared memory");
  uint32_t v;
  read_shared(p.owner->arena, p.at, &v, sizeof v);
  return v;
}

void store_cluster(uint32_t address, uint32_t value) {
  const SharedPlace p = locate(address);
  check_multiple(p.at, 4, "a word of shared memory");
  self().knows.stored_away |= p.owner != block;
  write_shared(p.owner->arena, p.at, &value, sizeof value);
}

void change_registers(uint32_t count, bool more) {
  if (count < 24 || count > 256 || count % 8) {
    fail(std::to_string(count) + " registers of a thread are no multiple of 8 from 24 to 256");
  }
  if (block->current % 32 != 0) return;  // a warp goes together
  RegisterPool& pool = machine<RegisterPools>().of[block->rank];
  const auto threads = static_cast<uint32_t>(block->fibers.size());
  pool.launched = std::min<uint32_t>(256, 65536 / threads / 8 * 8);
  uint32_t& has = pool.of.insert({block->current / 32, pool.launched}).first->second;
  if (more ? count < has : count > has) {
    fail(std::string(more ? "more" : "fewer") + "_registers to " + std::to_string(count) +
         " of a warp with " + std::to_string(has));
  }
  const int64_t need = 32 * (int64_t{count} - has);
  wait_until([&pool, need] { return pool.free >= need; },
             [&pool, need] {
               return std::to_string(need) + " registers, of which " + std::to_string(pool.free) +
                      " are free";
             });
  pool.free -= need;
  has = count;
}

}  // namespace emulation
