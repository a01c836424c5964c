// SPDX-License-Identifier: Apache-2.0
#include "tests/cuda/emulation_arena.h"

#include <algorithm>
#include <cstring>

namespace emulation {
namespace {

/// What the thread that runs does itself.
Access own_access(Arena& arena) {
  const Knowledge& k = self().knows;
  return {{k.agent, k.now}, k, arena};
}

/// Room for shared memory up to `end`.
void grow(Arena& arena, uint32_t end) {
  if (end - Arena::kBegin > Arena::kMost) {
    fail("a block takes " + std::to_string(end - Arena::kBegin) + " bytes of shared memory; " +
         std::to_string(Arena::kMost) + " is the most");
  }
  if (end <= arena.bytes.size()) return;
  arena.bytes.resize(end, 0xff);
  arena.marks.resize(end);
}

uint32_t add_part(const void* key, uint32_t offset, int64_t elements, uint32_t element,
                  const char* name) {
  Arena& arena = block->arena;
  const uint32_t all = static_cast<uint32_t>(elements) * element;
  grow(arena, offset + all);
  arena.parts.push_back({offset, all, element, name});
  return block->shared_arrays[key] = offset;
}

}  // namespace

std::string place_of(const Arena& arena, uint32_t at) {
  for (const Arena::Part& p : arena.parts) {
    if (at >= p.offset && at < p.offset + p.bytes) {
      return std::string(p.name) + "[" + std::to_string((at - p.offset) / p.element) + "]";
    }
  }
  return "byte " + std::to_string(at) + " of shared memory";
}

void Access::complain(uint32_t at, const std::string& what) const {
  fail(place_of(arena, at) + " " + what);
}

void Access::inside(uint32_t at, uint32_t n) const {
  if (at < Arena::kBegin || at + n > arena.bytes.size()) {
    fail("shared memory is touched at byte " + std::to_string(at) + ", where nothing is");
  }
}

void Access::after_write(uint32_t at, const Arena::Mark& m, const char* verb) const {
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

void Access::after_reads(uint32_t at, const Arena::Mark& m) const {
  const std::string by = plain() ? "" : " by " + name();
  for (const Epoch& e : cluster->order.readers[m.readers]) {
    if (k.has(e)) continue;
    complain(at, "is written" + by +
                     (cluster->order.is_thread(e.agent)
                          ? " in the barrier interval in which another thread reads it"
                          : " while " + cluster->order.name(e.agent) + " still reads it"));
  }
}

void Access::read_mark(uint32_t at, Arena::Mark& m) const {
  if (!m.defined) complain(at, "is read before anything is written there");
  after_write(at, m, "read");
  m.readers = cluster->order.readers.with(m.readers, epoch, k);
}

void Access::write_mark(uint32_t at, Arena::Mark& m, bool same) const {
  const bool two = plain() && m.written != 0 && cluster->order.is_thread(m.writer) &&
                   !k.has({m.writer, m.written});
  if (two && !same) complain(at, "is written by two threads in one barrier interval");
  if (!two) after_write(at, m, "written");
  after_reads(at, m);
  m = {epoch.clock, 0, epoch.agent, true};
}

template <class F>
void Access::each(uint32_t at, uint32_t n, F step) const {
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

void Access::read(uint32_t at, uint32_t n) const {
  each(at, n, [&](uint32_t b, Arena::Mark& m) { read_mark(b, m); });
}

void Access::write(uint32_t at, uint32_t n, bool same) const {
  each(at, n, [&](uint32_t b, Arena::Mark& m) { write_mark(b, m, same); });
}

void read_shared(Arena& arena, uint32_t at, void* to, uint32_t n) {
  own_access(arena).read(at, n);
  std::memcpy(to, arena.bytes.data() + at, n);
}

void write_shared(Arena& arena, uint32_t at, const void* from, uint32_t n) {
  const Access access = own_access(arena);
  access.inside(at, n);
  access.write(at, n, arena.marks[at].defined && !std::memcmp(arena.bytes.data() + at, from, n));
  std::memcpy(arena.bytes.data() + at, from, n);
}

uint32_t place_shared(const void* key, int64_t elements, uint32_t element, const char* name) {
  const auto found = block->shared_arrays.find(key);
  if (found != block->shared_arrays.end()) return found->second;
  const auto end = static_cast<uint32_t>(block->arena.bytes.size());
  const uint32_t first = Arena::kBegin + block->arena.dynamic;
  return add_part(key, (std::max(end, first) + 127) / 128 * 128, elements, element, name);
}

uint32_t place_shared_at(const void* key, int64_t elements, uint32_t element, const char* name,
                         int64_t byte) {
  const auto found = block->shared_arrays.find(key);
  if (found != block->shared_arrays.end()) return found->second;
  const int64_t end = byte + elements * int64_t{element};
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
  return add_part(key, Arena::kBegin + static_cast<uint32_t>(byte), elements, element, name);
}

}  // namespace emulation
