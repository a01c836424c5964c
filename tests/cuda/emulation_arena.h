// SPDX-License-Identifier: Apache-2.0
// Shared memory: who may touch which of its bytes when, and the arrays that kernels see of it.
#pragma once

#include <cstring>

#include "tests/cuda/emulation_block.h"
#include "tests/cuda/emulation_record.h"

namespace emulation {

/// A byte of shared memory as messages name it: `tile[7]`.
inline std::string place_of(const Arena& arena, uint32_t at) {
  for (const Arena::Part& p : arena.parts) {
    if (at >= p.offset && at < p.offset + p.bytes) {
      return std::string(p.name) + "[" + std::to_string((at - p.offset) / p.element) + "]";
    }
  }
  return "byte " + std::to_string(at) + " of shared memory";
}

/// An access to shared memory: by a thread itself, or by something that it started.
struct Access {
  Epoch epoch;         ///< of who makes it
  const Knowledge& k;  ///< of the thread that makes or starts it
  Arena& arena;

  bool plain() const { return epoch.agent == k.agent; }
  const std::string& name() const { return cluster->order.name(epoch.agent); }
  [[noreturn]] void complain(uint32_t at, const std::string& what) const {
    fail(place_of(arena, at) + " " + what);
  }
  void inside(uint32_t at, uint32_t n) const {
    if (at < Arena::kBegin || at + n > arena.bytes.size()) {
      fail("shared memory is touched at byte " + std::to_string(at) + ", where nothing is");
    }
  }

  /// What was written there last must come before this access.
  void after_write(uint32_t at, const Arena::Mark& m, const char* verb) const {
    if (m.written == 0) return;
    const Epoch e{m.writer, m.written};
    const Order& order = cluster->order;
    const bool by_thread = order.is_thread(m.writer);
    const std::string is = std::string("is ") + verb + (plain() ? "" : " by " + name());
    if (!k.has(e)) {
      complain(at, is + (by_thread ? " in the barrier interval in which another thread writes it"
                                   : " before " + order.name(m.writer) + " is waited for"));
    }
    if (order.is_generic(epoch.agent) || !order.is_generic(m.writer) || k.has_fenced(e)) return;
    complain(at, is + " without fence.proxy.async by the thread that " +
                     (by_thread ? "wrote it" : "waited for " + order.name(m.writer) + " to it"));
  }
  void after_reads(uint32_t at, const Arena::Mark& m) const {
    const std::string by = plain() ? "" : " by " + name();
    for (const Epoch& e : cluster->order.readers[m.readers]) {
      if (k.has(e)) continue;
      complain(at, "is written" + by +
                       (cluster->order.is_thread(e.agent)
                            ? " in the barrier interval in which another thread reads it"
                            : " while " + cluster->order.name(e.agent) + " still reads it"));
    }
  }

  void read_mark(uint32_t at, Arena::Mark& m) const {
    if (!m.defined) complain(at, "is read before anything is written there");
    after_write(at, m, "read");
    m.readers = cluster->order.readers.with(m.readers, epoch, k);
  }
  void write_mark(uint32_t at, Arena::Mark& m, bool same) const {
    const bool two = plain() && m.written != 0 && cluster->order.is_thread(m.writer) &&
                     !k.has({m.writer, m.written});
    if (two && !same) complain(at, "is written by two threads in one barrier interval");
    if (!two) after_write(at, m, "written");
    after_reads(at, m);
    m = {epoch.clock, 0, epoch.agent, true};
  }

  /// Bytes next to each other mostly have one history.
  template <class F>
  void each(uint32_t at, uint32_t n, F step) const {
    inside(at, n);
    Arena::Mark before, after;
    for (uint32_t i = 0; i < n; ++i) {
      Arena::Mark& m = arena.marks[at + i];
      if (i > 0 && m == before) {
        m = after;
        continue;
      }
      before = m;
      step(at + i, m);
      after = m;
    }
  }
  void read(uint32_t at, uint32_t n) const {
    each(at, n, [&](uint32_t b, Arena::Mark& m) { read_mark(b, m); });
  }
  void write(uint32_t at, uint32_t n, bool same = false) const {
    each(at, n, [&](uint32_t b, Arena::Mark& m) { write_mark(b, m, same); });
  }
};

/// What the thread that runs does itself.
inline Access own_access(Arena& arena) {
  const Knowledge& k = self().knows;
  return {{k.agent, k.now}, k, arena};
}

/// Reads and writes bytes of shared memory by the thread that runs.
inline void read_shared(Arena& arena, uint32_t at, void* to, uint32_t n) {
  own_access(arena).read(at, n);
  std::memcpy(to, arena.bytes.data() + at, n);
}
inline void write_shared(Arena& arena, uint32_t at, const void* from, uint32_t n) {
  const Access access = own_access(arena);
  access.inside(at, n);
  access.write(at, n, arena.marks[at].defined && !std::memcmp(arena.bytes.data() + at, from, n));
  std::memcpy(arena.bytes.data() + at, from, n);
}

/// Room for shared memory up to `end`.
inline void grow(Arena& arena, uint32_t end) {
  if (end - Arena::kBegin > Arena::kMost) {
    fail("a block takes " + std::to_string(end - Arena::kBegin) + " bytes of shared memory; " +
         std::to_string(Arena::kMost) + " is the most");
  }
  if (end <= arena.bytes.size()) return;
  arena.bytes.resize(end, 0xff);
  arena.marks.resize(end);
}

/// An array in shared memory.
template <class T>
struct Team {
  using Element = T;
  struct Ref {
    Team* team;
    uint32_t at;
    operator T() const {
      record(Touch::kSharedLoad, team->name, at, sizeof(T));
      T v;
      read_shared(*team->arena, at, &v, sizeof v);
      return v;
    }
    const Ref& operator=(T v) const {
      record(Touch::kSharedStore, team->name, at, sizeof(T));
      write_shared(*team->arena, at, &v, sizeof v);
      return *this;
    }
    const Ref& operator=(const Ref& other) const { return *this = static_cast<T>(other); }
  };
  Team(uint32_t offset, int64_t elements, const char* name)
      : arena(&block->arena), offset(offset), elements(elements), name(name) {
    const auto size = static_cast<uint32_t>(sizeof(T));
    const auto all = static_cast<uint32_t>(elements) * size;
    grow(*arena, offset + all);
    arena->parts.push_back({offset, all, size, name});
  }
  /// In shared memory, as an instruction takes it.
  int64_t address(int64_t i) const { return offset + i * static_cast<int64_t>(sizeof(T)); }
  Ref operator[](int64_t i) {
    check(i, elements, name);
    return {this, static_cast<uint32_t>(address(i))};
  }
  Arena* arena;
  uint32_t offset;
  int64_t elements;
  const char* name;
};

/// The block's array that a declaration is: after all others, aligned to what any access wants.
template <class T>
Team<T>& team(const void* key, int64_t elements, const char* name) {
  std::shared_ptr<void>& slot = block->teams[key];
  if (!slot) {
    const auto end = static_cast<uint32_t>(block->arena.bytes.size());
    const uint32_t first = Arena::kBegin + block->arena.dynamic;
    const uint32_t offset = (std::max(end, first) + 127) / 128 * 128;
    slot = std::make_shared<Team<T>>(offset, elements, name);
  }
  return *static_cast<Team<T>*>(slot.get());
}

/// An array at `byte` of the shared memory that the launch asked for, apart from all others.
template <class T>
Team<T>& team_at(const void* key, int64_t elements, const char* name, int64_t byte) {
  std::shared_ptr<void>& slot = block->teams[key];
  if (!slot) {
    const int64_t end = byte + elements * static_cast<int64_t>(sizeof(T));
    if (end > block->arena.dynamic) {
      fail(std::string(name) + " ends at byte " + std::to_string(end) + " of " +
           std::to_string(block->arena.dynamic) + " of dynamic shared memory");
    }
    for (const Arena::Part& p : block->arena.parts) {
      const int64_t first = int64_t{p.offset} - Arena::kBegin;
      if (byte < first + p.bytes && first < end) {
        fail(std::string(name) + " overlaps other shared memory");
      }
    }
    slot = std::make_shared<Team<T>>(Arena::kBegin + static_cast<uint32_t>(byte), elements, name);
  }
  return *static_cast<Team<T>*>(slot.get());
}

}  // namespace emulation
