// SPDX-License-Identifier: Apache-2.0
// Copies into shared memory that threads start, commit in groups and wait for. A group lands when
// no thread can go on any more; until then its target is poisoned, and whoever touches it before
// the wait that is for it is at fault.
#pragma once

#include "tests/cuda/emulation_async.h"

namespace emulation {

/// Starts a copy of `kept` bytes to the block's shared memory at `to`, and of zeros up to `bytes`.
void start_async(uint32_t to, const void* from, uint32_t bytes, uint32_t kept);

template <class P, class Q>
void copy_async(P to, Q from, int bytes, int kept) {
  using E = typename P::Element;
  const int64_t count = bytes / static_cast<int64_t>(sizeof(E));
  to.check_aligned(bytes);
  check(to.index, to.buffer->elements, to.buffer->name);
  check(to.index + count - 1, to.buffer->elements, to.buffer->name);
  const E* source = nullptr;
  if (kept > 0) {
    from.check_aligned(bytes);
    const int64_t many = kept / static_cast<int64_t>(sizeof(E));
    check(from.index, from.buffer->elements, from.buffer->name);
    check(from.index + many - 1, from.buffer->elements, from.buffer->name);
    source = from.buffer->data + from.index;
    check_unwritten(source, static_cast<size_t>(many), sizeof(E));
  }
  start_async(static_cast<uint32_t>(to.buffer->address(to.index)), source,
              static_cast<uint32_t>(bytes), static_cast<uint32_t>(kept));
}

void commit_copies();
void wait_copies(uint32_t left);

}  // namespace emulation
