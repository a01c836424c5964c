// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

namespace hone::runtime {

/// Memory of calls, in blocks that are kept for the next call. One pool serves all kernels of an
/// engine, under one ceiling. Taking and giving back are a few atomic operations while the pool
/// holds a block of the size.
class WorkspacePool {
 public:
  explicit WorkspacePool(int64_t ceiling) : ceiling_(ceiling) {}
  ~WorkspacePool();
  WorkspacePool(const WorkspacePool&) = delete;
  WorkspacePool& operator=(const WorkspacePool&) = delete;

  /// A block of at least `bytes`, 64-byte aligned; null past the ceiling or where the system has no
  /// more. `bytes` > 0.
  void* take(int64_t bytes);
  /// Gives back a block taken with the same `bytes`.
  void give(void* block, int64_t bytes);

  /// Counts memory that is held for long (bound constants); false past the ceiling.
  bool reserve(int64_t bytes);
  void unreserve(int64_t bytes) { used_.fetch_sub(bytes); }

  int64_t ceiling() const { return ceiling_; }
  /// Bytes of all blocks, kept ones included, and of reservations.
  int64_t used() const { return used_.load(); }

 private:
  /// Chosen: four classes to a power of two; a few blocks of each (not measured).
  static constexpr int kClasses = 256;
  static constexpr int kKept = 8;
  using Shelf = std::array<std::atomic<void*>, kKept>;

  void trim();

  int64_t ceiling_;
  std::atomic<int64_t> used_{0};
  std::array<Shelf, kClasses> shelves_{};
};

}  // namespace hone::runtime
