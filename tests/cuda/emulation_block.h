// SPDX-License-Identifier: Apache-2.0
// Blocks of threads that run together, as fibers, and the points where they meet.
#pragma once

#include <ucontext.h>

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "tests/cuda/emulation_order.h"

namespace emulation {

struct Dim3 {
  unsigned x = 0, y = 0, z = 0;
  unsigned count() const { return x * y * z; }
};

/// What a kernel did that it must not.
struct Fault {
  std::string text;
};

enum class Wait { kNothing, kCondition, kShuffle, kTogether, kDone };

/// What the lanes of a warp do together, each with a part of its own.
using Together = void (*)(void* const* parts);

struct Fiber {
  ucontext_t context;
  std::unique_ptr<char[]> stack;
  Dim3 index;
  Wait wait = Wait::kNothing;
  std::function<bool()> ready;             ///< of kCondition: whether it may go on
  std::function<std::string()> waits_for;  ///< what is said when nothing goes on; none: a barrier
  uint64_t posted = 0, received = 0;       ///< what a shuffle exchanges
  int lane = 0;                            ///< that it asks
  Together together = nullptr;             ///< what it waits to do with its warp
  void* part = nullptr;
  Knowledge knows;
  std::function<void()> at_end;  ///< what must hold when the thread leaves
  uint32_t product_fences = 0;   ///< that it passed
  uint32_t products_done = 0;    ///< groups of products that it waited for
};

/// A point where so many threads wait for one another, again and again.
struct Meeting {
  size_t expected = 0, arrived = 0;
  uint64_t round = 0;  ///< how often all were there
  Gathering gathering;
  Message message;  ///< what those of the last round knew together
};

/// Shared memory of a block: bytes, and per byte who wrote and read it last.
struct Arena {
  struct Mark {
    uint32_t written = 0, readers = 0;
    Agent writer = 0;
    bool defined = false;
    bool operator==(const Mark&) const = default;
  };
  /// A part of it that has a name.
  struct Part {
    uint32_t offset, bytes, element;
    const char* name;
  };
  /// As on the device, a part at the beginning belongs to the system.
  static constexpr uint32_t kBegin = 1024, kMost = 227 << 10;

  std::vector<uint8_t> bytes;
  std::vector<Mark> marks;
  std::vector<Part> parts;
  uint32_t dynamic = 0;  ///< bytes from kBegin that the launch asked for
};

/// A block of threads.
struct Block {
  std::vector<Fiber> fibers;
  size_t current = 0;  ///< the thread that runs
  Dim3 extent, index;
  uint32_t rank = 0;  ///< in its cluster
  Arena arena;
  std::map<const void*, uint32_t> shared_arrays;  ///< where arrays of shared memory begin, by key
  std::map<int, Meeting> meetings;                ///< by the barrier's number
};

/// A kernel as it is called by each thread.
using Kernel = void (*)(const void* parameters);

/// Blocks that run at the same time.
struct Cluster {
  std::deque<Block> blocks;
  Dim3 shape{1, 1, 1};  ///< in blocks
  Dim3 grid;
  Kernel kernel = nullptr;
  const void* parameters = nullptr;  ///< of the kernel
  ucontext_t scheduler;
  std::string fault;
  Order order;
  Meeting meeting;
  std::map<std::string, std::shared_ptr<void>> machinery;  ///< what works beside the threads
  std::deque<std::function<void()>> landings;              ///< what it still has to do
  std::unordered_map<const void*, uint64_t>* writers =
      nullptr;  ///< of global elements, in this launch
};

inline Cluster* cluster = nullptr;
inline Block* block = nullptr;    ///< whose thread runs
inline uint32_t fence_round = 1;  ///< of the thread that runs: its product_fences + 1

inline Fiber& self() { return block->fibers[block->current]; }
inline Dim3 thread_index() { return self().index; }
inline uint64_t thread_number() {
  return ((static_cast<uint64_t>(block->index.z) << 20 | block->index.y) << 20 | block->index.x)
             << 12 |
         block->current;
}

[[noreturn]] void fail(const std::string& text);
[[noreturn]] void fail_outside(int64_t i, int64_t n, const char* name);

inline void check(int64_t i, int64_t n, const char* name) {
  if (i < 0 || i >= n) fail_outside(i, n, name);
}

void wait(Wait what);

/// Until `ready`; `waits_for` says what is missing if that never comes.
void wait_until(std::function<bool()> ready, std::function<std::string()> waits_for = nullptr);

/// Waits for the other lanes of the warp and does `f` with them.
void together(Together f, void* part);

/// Counts a thread in; the round that it belongs to. What it knows comes with it, or only the
/// mbarriers that it made.
uint64_t arrive(Meeting& m, size_t expected, bool releases = true);

/// Waits until all of `round` are there, and knows then what they knew.
void meet(Meeting& m, uint64_t round);

/// All threads of the block.
void block_barrier();

}  // namespace emulation
