// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>

namespace hone::runtime {

/// A stretch of memory.
struct MemorySpan {
  const void* at = nullptr;
  int64_t bytes = 0;
};

/// Takes memory out of all caches of the machine, those of other cores included.
void evict(std::span<const MemorySpan> memory);

/// Fills caches of `cache_bytes` with other memory: little of what was there is left.
void evict_all(int64_t cache_bytes);

}  // namespace hone::runtime
