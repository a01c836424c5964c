// SPDX-License-Identifier: Apache-2.0
// What works beside the threads, for kernels: barriers in memory that count arrivals and bytes,
// bulk copies. A copy lands when no thread can go on any more, as late as it may; until its barrier
// or its group is waited for, whoever touches what it writes, or writes what it reads, is at fault.
#pragma once

#include "tests/cuda/emulation_global.h"

namespace emulation {

template <class P>
uint32_t address_of(P place) {
  return static_cast<uint32_t>(place.buffer->address(place.index));
}
uint32_t shared_of_rank(uint32_t address, uint32_t rank);

void mbarrier_init(uint32_t address, uint32_t count);
void mbarrier_invalidate(uint32_t address);
void mbarrier_expect(uint32_t address, uint32_t bytes);
void mbarrier_arrive(uint32_t address, uint32_t bytes);
/// At the barrier of another block. `releases`: what the thread wrote comes with it; without, that
/// block learns only that the thread has read what it read.
void mbarrier_arrive_at(uint32_t address, uint32_t rank, bool releases);
void mbarrier_wait(uint32_t address, uint32_t parity);

/// What works beside the threads sees the barriers that the thread made.
void fence_mbarrier_init();
void fence_proxy_async();

/// Checks the places of a copy between shared and global memory that something beside the threads
/// does.
void check_bulk(int64_t global, const char* name, uint32_t shared, uint32_t bytes);
template <class P>
void check_bulk(P global, uint32_t shared, uint32_t bytes) {
  check_bulk(global.buffer->address(global.index), global.buffer->name, shared, bytes);
  const auto count = static_cast<int64_t>(bytes / sizeof(typename P::Element));
  check(global.index, global.buffer->elements, global.buffer->name);
  check(global.index + count - 1, global.buffer->elements, global.buffer->name);
}

/// Copies between a block's memory and `count` elements that lie next to each other.
void start_bulk_load(uint32_t to, const void* from, size_t count, size_t element, uint32_t barrier,
                     uint32_t mask);
void start_bulk_store(void* to, uint32_t from, size_t count, size_t element);

template <class P>
void start_bulk_load(uint32_t to, P from, uint32_t bytes, uint32_t barrier, uint32_t mask) {
  check_bulk(from, to, bytes);
  constexpr size_t kElement = sizeof(typename P::Element);
  start_bulk_load(to, from.buffer->data + from.index, bytes / kElement, kElement, barrier, mask);
}
template <class P>
void start_bulk_store(P to, uint32_t from, uint32_t bytes) {
  check_bulk(to, from, bytes);
  constexpr size_t kElement = sizeof(typename P::Element);
  start_bulk_store(to.buffer->data + to.index, from, bytes / kElement, kElement);
}

void bulk_commit();
void bulk_wait(uint32_t left);

}  // namespace emulation
