// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "include/hone/error.h"

namespace hone::runtime {

/// Which end of a guarded block touches an unmapped page. kFar is neither, for timing: a caller's
/// tensors lie among others. Processors take hundreds of cycles for a masked load of an absent
/// page, even with the lanes there off.
enum class Guard : uint8_t { kAfter, kBefore, kFar };

/// Memory between two PROT_NONE pages. One end touches a guard, so that a single byte too far
/// faults. The slack at the other end holds a pattern, which `overwritten` checks.
class GuardedMemory {
 public:
  GuardedMemory() = default;
  GuardedMemory(GuardedMemory&& other) noexcept { swap(other); }
  GuardedMemory& operator=(GuardedMemory&& other) noexcept {
    swap(other);
    return *this;
  }
  ~GuardedMemory();

  /// `bytes` (0 is legal) whose `guard` end touches a guard page, or lies `stagger` bytes from it;
  /// of kFar, `stagger` bytes behind a few pages.
  static Result<GuardedMemory> allocate(size_t bytes, Guard guard, size_t stagger = 0);

  /// Makes the block read-only, or writable again.
  void protect(bool readable_only);

  uint8_t* data() const { return data_; }
  size_t size() const { return size_; }
  Guard guard() const { return guard_; }
  /// True when bytes of the slack before or after the block have changed.
  bool overwritten() const;

 private:
  void swap(GuardedMemory& other) noexcept;

  uint8_t* map_ = nullptr;
  size_t map_size_ = 0;
  uint8_t* data_ = nullptr;
  size_t size_ = 0;
  Guard guard_ = Guard::kAfter;
};

/// Blocks that calls are done with, for the next ones: to map and first touch a large block takes
/// longer than many a kernel.
class GuardedPool {
 public:
  /// As GuardedMemory::allocate; what the block holds is left from an earlier use.
  Result<GuardedMemory> take(size_t bytes, Guard guard);
  /// Hands a block back, whose surroundings are untouched.
  void give(GuardedMemory block);

 private:
  std::vector<GuardedMemory> blocks_;  ///< oldest first
  size_t bytes_ = 0;
};

}  // namespace hone::runtime
