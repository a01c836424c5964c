// SPDX-License-Identifier: Apache-2.0
#include "runtime/engine/workspace.h"

#include <bit>
#include <cstdlib>

#include "runtime/engine/large_pages.h"

namespace hone::runtime {
namespace {

/// Chosen: a page; more than any memory (not measured).
constexpr int64_t kSmallest = 4096;
constexpr int64_t kLargest = int64_t{1} << 50;

/// A size class: four steps from one power of two to the next.
struct Class {
  int index = 0;
  int64_t bytes = kSmallest;
};

Class class_of(int64_t bytes) {
  if (bytes <= kSmallest) return {};
  const int shift = std::bit_width(static_cast<uint64_t>(bytes - 1)) - 3;
  const int64_t step = int64_t{1} << shift;
  const int64_t steps = (bytes + step - 1) >> shift;  // 5..8
  return {(shift - 10) * 4 + static_cast<int>(steps) - 4, steps << shift};
}

}  // namespace

WorkspacePool::~WorkspacePool() { trim(); }

void WorkspacePool::trim() {
  for (int c = 0; c < kClasses; ++c) {
    for (std::atomic<void*>& kept : shelves_[static_cast<size_t>(c)]) {
      void* block = kept.exchange(nullptr);
      if (!block) continue;
      // Class c holds blocks of (5..8) steps; the inverse of class_of.
      const int64_t bytes = c == 0 ? kSmallest : int64_t{(c - 1) % 4 + 5} << ((c - 1) / 4 + 10);
      used_.fetch_sub(bytes);
      std::free(block);
    }
  }
}

bool WorkspacePool::reserve(int64_t bytes) {
  if (used_.fetch_add(bytes) + bytes <= ceiling_) return true;
  trim();
  if (used_.load() <= ceiling_) return true;
  used_.fetch_sub(bytes);
  return false;
}

void* WorkspacePool::take(int64_t bytes) {
  if (bytes > kLargest) return nullptr;
  const Class size = class_of(bytes);
  for (std::atomic<void*>& kept : shelves_[static_cast<size_t>(size.index)]) {
    if (!kept.load(std::memory_order_relaxed)) continue;
    if (void* block = kept.exchange(nullptr, std::memory_order_acquire)) return block;
  }
  if (!reserve(size.bytes)) return nullptr;
  void* block = allocate_in_pages(64, size.bytes);
  if (!block) unreserve(size.bytes);
  return block;
}

void WorkspacePool::give(void* block, int64_t bytes) {
  const Class size = class_of(bytes);
  for (std::atomic<void*>& kept : shelves_[static_cast<size_t>(size.index)]) {
    void* empty = nullptr;
    if (kept.load(std::memory_order_relaxed)) continue;
    if (kept.compare_exchange_strong(empty, block, std::memory_order_release)) return;
  }
  unreserve(size.bytes);
  std::free(block);
}

}  // namespace hone::runtime
