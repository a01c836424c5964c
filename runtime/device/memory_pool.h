// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "include/hone/error.h"

namespace hone::runtime {

class Gpu;

/// Device memory in blocks that are kept for the next call. Blocks of up to 32 MiB are powers of
/// two, larger ones multiples of 2 MiB. A block used in a stream serves that stream again at once,
/// and others only after all streams are done. In the steady state nobody waits.
class MemoryPool {
 public:
  MemoryPool(Gpu& gpu, int64_t ceiling) : gpu_(gpu), ceiling_(ceiling) {}
  MemoryPool(const MemoryPool&) = delete;
  MemoryPool& operator=(const MemoryPool&) = delete;

  /// A block of at least `bytes` for work in `stream`. kMemory past the ceiling, or where the
  /// device has no more even without what is kept.
  Result<uint64_t> take(int64_t bytes, void* stream);
  /// Gives back a block that `take` gave for `bytes`; work in `stream` may still use it.
  void give(uint64_t block, int64_t bytes, void* stream);

  /// Memory that is held for long, and that no stream has used before; `release` waits for all work
  /// that may use it. What the driver does not free counts as kept until a later `trim` frees it.
  Result<uint64_t> hold(int64_t bytes) { return take(bytes, this); }
  void release(uint64_t block, int64_t bytes);

  /// Frees what is kept for a stream that ends.
  void forget(void* stream);
  /// Frees what is kept, once all streams are done; false where nothing was freed. All of it stays
  /// kept where the driver does not say that the streams are done.
  bool trim();

  int64_t ceiling() const { return ceiling_; }
  /// Bytes of all blocks, kept ones included.
  int64_t used() const;
  /// Bytes of blocks that nobody has.
  int64_t kept() const;

 private:
  using Shelves = std::map<std::pair<void*, int64_t>, std::vector<uint64_t>>;
  struct Block {
    uint64_t address = 0;
    int64_t bytes = 0;  ///< of its size class
  };

  std::optional<uint64_t> take_kept(int64_t size, void* stream);
  bool reserve(int64_t size);
  int64_t free(const std::vector<Block>& blocks);
  void put_back(const Shelves& shelves, int64_t bytes);
  /// In the place of a stream: blocks that the driver did not free.
  void* unfreed() { return &trimming_; }

  Gpu& gpu_;
  const int64_t ceiling_;
  std::mutex trimming_;       ///< held while kept blocks are freed; taken before `mutex_`
  mutable std::mutex mutex_;  ///< never held during a call of the driver
  int64_t used_ = 0;
  int64_t kept_ = 0;
  Shelves shelves_;  ///< by stream and size
};

}  // namespace hone::runtime
