// SPDX-License-Identifier: Apache-2.0
#include "tests/cuda/emulation_barrier.h"

#include <cstring>

#include "tests/cuda/emulation_async.h"
#include "tests/cuda/emulation_machine.h"

namespace emulation {
namespace {

struct Barriers {
  std::map<uint64_t, Barrier> all;  ///< by place
};

/// The barrier at a place, as the thread that runs may use it.
Barrier& barrier_at(SharedPlace p) {
  auto& all = machine<Barriers>().all;
  const auto found = all.find(p.key());
  if (found == all.end()) fail(p.name() + " is used as an mbarrier and is none");
  if (!self().knows.has(found->second.made)) {
    fail("mbarrier " + p.name() + " is used without a barrier after another thread made it");
  }
  return found->second;
}

/// Bytes that land for the barrier, of a copy that it counts in `phase`.
void land_bytes(Barrier& b, uint32_t bytes, uint32_t phase) {
  if (b.phases != phase) {
    fail("mbarrier " + b.name + " completes phase " + std::to_string(phase) +
         " before all copies that it counts are there");
  }
  b.bytes -= bytes;
  if (b.missing == 0 && b.bytes < 0) {
    fail("mbarrier " + b.name + " sees " + std::to_string(-b.bytes) +
         " bytes more than its phase " + std::to_string(b.phases) + " expects");
  }
  b.complete_if_all_there();
}

}  // namespace

void Barrier::complete_if_all_there() {
  if (missing > 0 || bytes != 0) return;
  gathering.add({agent, ++phases});
  const Message m = gathering.take();
  Joins& join = cluster->order.join;
  message = {join(message.seen, m.seen), join(message.fenced, m.fenced)};
  missing = count;
}

std::string Barrier::state() const {
  return "phase " + std::to_string(phases) + " of mbarrier " + name + ", where " +
         std::to_string(missing) + " of " + std::to_string(count) + " arrivals and " +
         std::to_string(bytes) + " bytes are missing";
}

void mbarrier_init(uint32_t address, uint32_t count) {
  const SharedPlace p = locate(address);
  check_multiple(p.at, 8, "mbarrier " + p.name());
  if (count == 0) fail("mbarrier " + p.name() + " counts no arrivals");
  const uint64_t word = count;
  write_shared(p.owner->arena, p.at, &word, sizeof word);
  auto& all = machine<Barriers>().all;
  if (all.contains(p.key())) fail(p.name() + " is an mbarrier already");
  Barrier& b = all[p.key()];
  b.name = p.name();
  b.agent = cluster->order.hire("the copy that mbarrier " + b.name + " counts");
  b.count = b.missing = count;
  b.made = {self().knows.agent, self().knows.now};
}

void mbarrier_invalidate(uint32_t address) {
  const SharedPlace p = locate(address);
  if (barrier_at(p).bytes != 0) fail("mbarrier " + p.name() + " is invalidated while it counts");
  machine<Barriers>().all.erase(p.key());
}

void mbarrier_expect(uint32_t address, uint32_t bytes) {
  Barrier& b = barrier_at(locate(address));
  b.bytes += bytes;
  if (b.bytes >= 1 << 20) fail("mbarrier " + b.name + " counts less than 2^20 bytes");
}

void mbarrier_arrive(uint32_t address, uint32_t bytes) {
  Barrier& b = barrier_at(locate(address));
  if (b.missing == 0) {
    fail("more than the " + std::to_string(b.count) + " that it counts arrive at mbarrier " +
         b.name + " in phase " + std::to_string(b.phases));
  }
  if (bytes) mbarrier_expect(address, bytes);
  b.gathering.add(self().knows);
  --b.missing;
  b.complete_if_all_there();
}

void mbarrier_arrive_at(uint32_t address, uint32_t rank, bool releases) {
  if (!releases && self().knows.stored_away) {
    fail("a thread that stored to another block's memory arrives there without release");
  }
  mbarrier_arrive(shared_of_rank(address, rank), 0);
}

void mbarrier_wait(uint32_t address, uint32_t parity) {
  const SharedPlace p = locate(address);
  if (p.owner != block) fail("mbarrier " + p.name() + " of another block is waited for");
  Barrier& b = barrier_at(p);
  wait_until([&b, parity] { return ((b.phases + 1) & 1) == (parity & 1); },
             [&b] { return b.state(); });
  const int64_t phase = int64_t{b.phases} - 1;
  const auto [before, first] = b.waited.insert({self().knows.agent, phase});
  if (!first && before->second == phase) {
    fail("a thread waits again for phase " + std::to_string(phase) + " of mbarrier " + b.name);
  }
  before->second = phase;
  self().knows.learn(b.message, cluster->order.join);
}

void fence_mbarrier_init() {
  Knowledge& k = self().knows;
  for (auto& [key, b] : machine<Barriers>().all) b.announced |= b.made.agent == k.agent;
  k.made = k.now++;
}

void fence_proxy_async() {
  fence_mbarrier_init();
  self().knows.fence();
}

void start_copy(const std::vector<Block*>& blocks, uint32_t to, uint32_t barrier, uint32_t bytes,
                const std::function<void(Arena&)>& fill) {
  for (Block* const target : blocks) {
    Barrier& b = barrier_at({target, barrier});
    if (!b.announced) {
      fail("mbarrier " + b.name + " counts a copy without fence_mbarrier_init after it was made");
    }
    Arena& arena = target->arena;
    Access{{b.agent, b.phases + 1}, self().knows, arena}.write(to, bytes);
    std::memset(arena.bytes.data() + to, 0xff, bytes);
    later([&b, &arena, target, bytes, fill, phase = b.phases] {
      if (gone(*target)) fail("a block leaves while a copy to its shared memory is under way");
      fill(arena);
      land_bytes(b, bytes, phase);
    });
  }
}

std::vector<Block*> targets(uint32_t to, uint32_t barrier, uint32_t mask) {
  if (mask == 0) {
    if (locate(to).owner != locate(barrier).owner) {
      fail("a copy and the mbarrier that counts it are in different blocks");
    }
    return {locate(to).owner};
  }
  std::vector<Block*> out;
  for (uint32_t r = 0; r < 16; ++r) {
    if (mask >> r & 1) out.push_back(locate((r + 1) << 24).owner);
  }
  return out;
}

}  // namespace emulation
