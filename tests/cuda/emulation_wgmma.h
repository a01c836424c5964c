// SPDX-License-Identifier: Apache-2.0
// Products of a warpgroup: PTX ISA, wgmma. They run in order beside the threads; what they read and
// the registers that they hold are theirs until the thread waits for their group.
#pragma once

#include <cstring>

#include "tests/cuda/emulation_own.h"

namespace emulation {

enum class Kind { kbf16, kf16, ktf32, ki8i8, ku8u8, ki8u8, ku8i8 };

/// One wgmma, as a thread issues it.
struct Product {
  Kind kind;
  uint32_t columns;
  bool transposed_a, transposed_b, accumulates, from_registers;
  uint64_t a, b;
  uint32_t group;
  bool operator==(const Product&) const = default;
};

/// What a thread of the warpgroup has of a product.
struct ProductLane {
  void* sums;
  uint32_t a[4];
};

/// The group that the thread's next product belongs to.
uint32_t product_group();
/// Joins the thread's product to those of the others.
void issue(const Product& mine, const ProductLane& lane);
[[noreturn]] void fail_unfenced();

template <class P>
ProductLane take_sums(const Product& p, P d) {
  static_assert(sizeof(typename P::Element) == 4);
  if (self().product_fences == 0) fail_unfenced();
  d.buffer->take_off(d.index, p.columns / 2, p.group);
  return {d.buffer->values + d.index, {}};
}

template <class P>
void wgmma(Kind kind, uint32_t columns, bool transposed_a, bool transposed_b, P d, uint64_t a,
           uint64_t b, bool accumulates) {
  const Product p{kind, columns, transposed_a,   transposed_b, accumulates, false,
                  a,    b,       product_group()};
  issue(p, take_sums(p, d));
}

template <class P, class A>
void wgmma_registers(Kind kind, uint32_t columns, bool transposed_b, P d, A a, uint64_t b,
                     bool accumulates) {
  const Product p{kind, columns, false, transposed_b, accumulates, true, 0, b, product_group()};
  ProductLane lane = take_sums(p, d);
  constexpr int64_t kEach = sizeof lane.a / sizeof(typename A::Element);
  a.buffer->take_off(a.index, kEach, p.group);
  std::memcpy(lane.a, a.buffer->values + a.index, sizeof lane.a);
  issue(p, lane);
}

void wgmma_fence();
void wgmma_commit();
void wgmma_wait(uint32_t left);

}  // namespace emulation
