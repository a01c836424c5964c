// SPDX-License-Identifier: Apache-2.0
// What works beside the threads: barriers in memory that count arrivals and bytes, bulk copies. A
// copy lands when no thread can go on any more, as late as it may; until its barrier or its group
// is waited for, whoever touches what it writes, or writes what it reads, is at fault.
#pragma once

#include <typeinfo>

#include "tests/cuda/emulation_arena.h"

namespace emulation {

/// The one machine of type T of the blocks that run.
template <class T>
T& machine() {
  std::shared_ptr<void>& slot = cluster->machinery[typeid(T).name()];
  if (!slot) slot = std::make_shared<T>();
  return *static_cast<T*>(slot.get());
}

/// Does `f` once nothing else goes on, for the thread that runs now.
inline void later(std::function<void()> f) {
  Block* const b = block;
  const size_t t = b->current;
  cluster->landings.push_back([b, t, f = std::move(f)] {
    block = b;
    b->current = t;
    f();
  });
}

/// The thread that runs knows from now on that `e` is over.
inline void learn(Epoch e) {
  if (e.clock == 0) return;
  Clocks clocks(e.agent + size_t{1});
  clocks[e.agent] = e.clock;
  self().knows.learn({std::make_shared<const Clocks>(std::move(clocks)), nullptr},
                     cluster->order.join);
}

/// A place in the shared memory of a block. As a number: the byte, and above it 1 + the rank of the
/// block in its cluster, or 0 for the thread's own.
struct SharedPlace {
  Block* owner;
  uint32_t at;
  std::string name() const { return place_of(owner->arena, at); }
  uint64_t key() const { return static_cast<uint64_t>(owner->rank) << 32 | at; }
};

/// Whether all threads of a block have left.
inline bool gone(const Block& b) {
  for (const Fiber& f : b.fibers) {
    if (f.wait != Wait::kDone) return false;
  }
  return true;
}

inline SharedPlace locate(uint32_t address) {
  const uint32_t rank = address >> 24;
  if (rank > cluster->blocks.size()) {
    fail("block " + std::to_string(rank - 1) + " is not one of the " +
         std::to_string(cluster->blocks.size()) + " of the cluster");
  }
  Block* const owner = rank == 0 ? block : &cluster->blocks[rank - 1];
  if (owner != block && gone(*owner)) {
    fail("block " + std::to_string(rank - 1) +
         " of the cluster leaves while another uses its memory");
  }
  return {owner, address & 0xffffff};
}
template <class P>
uint32_t address_of(P place) {
  return static_cast<uint32_t>(place.buffer->address(place.index));
}
inline uint32_t shared_of_rank(uint32_t address, uint32_t rank) {
  const uint32_t there = (address & 0xffffff) | (rank + 1) << 24;
  locate(there);
  return there;
}

inline void check_multiple(uint64_t value, uint64_t of, const std::string& what) {
  if (value % of == 0) return;
  fail(what + " is not at a multiple of " + std::to_string(of) + " bytes");
}

/// mbarrier: a phase is complete when as many arrived as it counts and all expected bytes landed.
struct Barrier {
  std::string name;
  Agent agent = 0;  ///< of the copies that it counts: their epoch is the phase's number + 1
  uint32_t count = 0, missing = 0;
  int64_t bytes = 0;                ///< expected and not yet there
  uint32_t phases = 0;              ///< complete ones
  Epoch made;                       ///< when it was initialized
  bool announced = false;           ///< to what works beside the threads
  Gathering gathering;              ///< what those who arrived know
  Message message;                  ///< what all of the phases before knew
  std::map<Agent, int64_t> waited;  ///< the last phase that each thread waited for

  void complete_if_all_there() {
    if (missing > 0 || bytes != 0) return;
    gathering.add({agent, ++phases});
    const Message m = gathering.take();
    Joins& join = cluster->order.join;
    message = {join(message.seen, m.seen), join(message.fenced, m.fenced)};
    missing = count;
  }
  std::string state() const {
    return "phase " + std::to_string(phases) + " of mbarrier " + name + ", where " +
           std::to_string(missing) + " of " + std::to_string(count) + " arrivals and " +
           std::to_string(bytes) + " bytes are missing";
  }
};
struct Barriers {
  std::map<uint64_t, Barrier> all;  ///< by place
};

inline void mbarrier_init(uint32_t address, uint32_t count) {
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

/// The barrier at a place, as the thread that runs may use it.
inline Barrier& barrier_at(SharedPlace p) {
  auto& all = machine<Barriers>().all;
  const auto found = all.find(p.key());
  if (found == all.end()) fail(p.name() + " is used as an mbarrier and is none");
  if (!self().knows.has(found->second.made)) {
    fail("mbarrier " + p.name() + " is used without a barrier after another thread made it");
  }
  return found->second;
}

inline void mbarrier_invalidate(uint32_t address) {
  const SharedPlace p = locate(address);
  if (barrier_at(p).bytes != 0) fail("mbarrier " + p.name() + " is invalidated while it counts");
  machine<Barriers>().all.erase(p.key());
}

inline void mbarrier_expect(uint32_t address, uint32_t bytes) {
  Barrier& b = barrier_at(locate(address));
  b.bytes += bytes;
  if (b.bytes >= 1 << 20) fail("mbarrier " + b.name + " counts less than 2^20 bytes");
}

inline void mbarrier_arrive(uint32_t address, uint32_t bytes) {
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

/// At the barrier of another block. `releases`: what the thread wrote comes with it; without, that
/// block learns only that the thread has read what it read.
inline void mbarrier_arrive_at(uint32_t address, uint32_t rank, bool releases) {
  if (!releases && self().knows.stored_away) {
    fail("a thread that stored to another block's memory arrives there without release");
  }
  mbarrier_arrive(shared_of_rank(address, rank), 0);
}

/// Bytes that land for the barrier, of a copy that it counts in `phase`.
inline void land_bytes(Barrier& b, uint32_t bytes, uint32_t phase) {
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

inline void mbarrier_wait(uint32_t address, uint32_t parity) {
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

/// What works beside the threads sees the barriers that the thread made.
inline void fence_mbarrier_init() {
  Knowledge& k = self().knows;
  for (auto& [key, b] : machine<Barriers>().all) b.announced |= b.made.agent == k.agent;
  k.made = k.now++;
}
inline void fence_proxy_async() {
  fence_mbarrier_init();
  self().knows.fence();
}

/// Starts a copy of `bytes` to the same place in several blocks, of what `fill` will say.
inline void start_copy(const std::vector<Block*>& blocks, uint32_t to, uint32_t barrier,
                       uint32_t bytes, const std::function<void(Arena&)>& fill) {
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

/// The blocks that a copy goes to: those of the mask, or without one the target's own.
inline std::vector<Block*> targets(uint32_t to, uint32_t barrier, uint32_t mask) {
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

/// A range of global memory that something beside the threads reads or writes for this one.
template <class P>
void check_bulk(P global, uint32_t shared, uint32_t bytes) {
  const std::string name = "a bulk copy's place in " + std::string(global.buffer->name);
  check_multiple(static_cast<uint64_t>(global.buffer->address(global.index)), 16, name);
  check_multiple(shared, 16, "a bulk copy's place in shared memory");
  if (bytes == 0 || bytes % 16) fail("a bulk copy of " + std::to_string(bytes) + " bytes");
  const auto count = static_cast<int64_t>(bytes / sizeof(typename P::Element));
  check(global.index, global.buffer->elements, global.buffer->name);
  check(global.index + count - 1, global.buffer->elements, global.buffer->name);
}

/// Fails where another thread of the launch writes what is read.
inline void check_unwritten(const void* at) {
  if (cluster->writers->empty()) return;
  const auto found = cluster->writers->find(at);
  if (found != cluster->writers->end() && found->second != thread_number()) {
    fail("a copy reads global memory that another thread writes");
  }
}
/// A store of something beside the threads; it belongs to the thread that started it.
inline void claim(const void* at) {
  const auto [found, first] = cluster->writers->insert({at, thread_number()});
  if (!first && found->second != thread_number()) {
    fail("a store writes global memory that another thread writes");
  }
}

template <class P>
void start_bulk_load(uint32_t to, P from, uint32_t bytes, uint32_t barrier, uint32_t mask) {
  check_bulk(from, to, bytes);
  const auto* source = from.buffer->data + from.index;
  for (size_t i = 0; i < bytes / sizeof *source; ++i) check_unwritten(source + i);
  const uint32_t at = to & 0xffffff;
  start_copy(targets(to, barrier, mask), at, barrier & 0xffffff, bytes,
             [=](Arena& arena) { std::memcpy(arena.bytes.data() + at, source, bytes); });
}

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

inline void commit(Groups& g) {
  ++g.committed;
  if (!g.open.empty()) g.filled = g.committed;
  later([&g, group = std::move(g.open)] {
    for (const auto& work : group) work();
    ++g.landed;
  });
  g.open.clear();
}

/// Until all groups but the last `left` are over.
inline void wait_for(Groups& g, uint32_t left) {
  const uint32_t target = g.committed > left ? g.committed - left : 0;
  wait_until([&g, target] { return g.landed >= target; },
             [&g] { return cluster->order.name(g.agent); });
  g.waited = std::max(g.waited, target);
  learn({g.agent, target});
}

struct Stores {
  std::map<Agent, Groups> of;  ///< by thread
};

inline Groups& store_groups() { return groups_of<Stores>("a bulk store", "bulk stores", false); }

/// Starts a store of shared memory, which `write` does.
inline void start_store(uint32_t from, uint32_t bytes, std::function<void()> write) {
  const SharedPlace p = locate(from);
  Groups& g = store_groups();
  Access{{g.agent, g.committed + 1}, self().knows, p.owner->arena}.read(p.at, bytes);
  g.open.push_back(std::move(write));
}

template <class P>
void start_bulk_store(P to, uint32_t from, uint32_t bytes) {
  check_bulk(to, from, bytes);
  const SharedPlace p = locate(from);
  auto* const target = to.buffer->data + to.index;
  for (size_t i = 0; i < bytes / sizeof *target; ++i) claim(target + i);
  start_store(from, bytes, [=] { std::memcpy(target, p.owner->arena.bytes.data() + p.at, bytes); });
}

inline void bulk_commit() { commit(store_groups()); }
inline void bulk_wait(uint32_t left) { wait_for(store_groups(), left); }

}  // namespace emulation
