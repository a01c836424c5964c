// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "runtime/device/gpu.h"

namespace hone::runtime {

/// The status words of enqueued calls: each stream has one, or as many as a call takes. Bad data in
/// one stream stops nobody in another. Finding them takes no lock and no memory.
class StatusWords {
 public:
  /// Device memory of all words, each INT64_MAX; `each` are those of one stream.
  static Result<std::unique_ptr<StatusWords>> create(Gpu& gpu, size_t each = 1);
  ~StatusWords();
  StatusWords(const StatusWords&) = delete;
  StatusWords& operator=(const StatusWords&) = delete;

  /// Address of the first word of a stream. The first streams that ask have their own, for good;
  /// all further ones share `shared`.
  uint64_t of(void* stream) const;
  /// Address of the word of graphs, whose calls run in any stream, and of streams without their
  /// own.
  uint64_t shared() const {
    shares_.store(true, std::memory_order_relaxed);
    return word(kOwn);
  }
  /// Whether anybody was given `shared`.
  bool shares() const { return shares_.load(std::memory_order_relaxed); }

 private:
  /// Chosen: 64 places with the shared one (not measured).
  static constexpr size_t kOwn = 63;  ///< streams with a word of their own

  StatusWords(Gpu& gpu, size_t each, uint64_t words) : gpu_(gpu), each_(each), words_(words) {}
  uint64_t word(size_t place) const { return words_ + place * each_ * sizeof(int64_t); }

  Gpu& gpu_;
  size_t each_;
  uint64_t words_;
  /// Handles of the streams, each one more than it is; 0: free.
  mutable std::array<std::atomic<uintptr_t>, kOwn> streams_{};
  mutable std::atomic<bool> shares_{false};
};

}  // namespace hone::runtime
