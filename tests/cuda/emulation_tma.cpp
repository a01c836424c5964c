// SPDX-License-Identifier: Apache-2.0
#include "tests/cuda/emulation_tma.h"

#include <algorithm>
#include <cstring>

#include "tests/cuda/emulation_barrier.h"
#include "tests/cuda/emulation_global.h"
#include "tests/cuda/emulation_groups.h"
#include "tests/cuda/tensor_map.h"

namespace emulation {
namespace {

/// Of a copy from or to the box at `at`. Its rows begin at multiples of 16 bytes: hardware calls
/// others an illegal instruction.
TensorFacts facts_of(const unsigned long long* map, uint32_t rank, uint32_t shared, const int* at) {
  TensorFacts f;
  if (!read_map(map, f)) fail("a tensor copy's map is none");
  if (f.rank != rank) {
    fail("a tensor copy takes " + std::to_string(rank) + " coordinates, its map " +
         std::to_string(f.rank));
  }
  if (f.swizzle && f.box[0] * f.element != f.swizzle) {
    fail("a tensor map's box is " + std::to_string(f.box[0] * f.element) +
         " bytes long, its swizzle " + std::to_string(f.swizzle));
  }
  check_multiple(shared & 0xffffff, f.swizzle ? 8 * f.swizzle : 128,
                 "a tensor copy's tile in shared memory");
  check_multiple(static_cast<uint64_t>(int64_t{at[0]} * f.element), 16,
                 "where a tensor copy's rows begin");
  return f;
}

/// Calls `f(bytes from the tile's beginning, element in the tensor or null outside)` for a copy.
template <class F>
void each_element(const TensorFacts& t, const int* at, F f) {
  const uint32_t count = t.box_bytes() / t.element;
  for (uint32_t i = 0; i < count; ++i) {
    uint64_t address = t.address;
    bool inside = true;
    uint32_t rest = i;
    for (uint32_t d = 0; d < t.rank; ++d) {
      const int64_t c = int64_t{at[d]} + rest % t.box[d];
      rest /= t.box[d];
      inside &= c >= 0 && c < static_cast<int64_t>(t.size[d]);
      address += static_cast<uint64_t>(c) * (d == 0 ? t.element : t.stride[d]);
    }
    f(i * t.element, inside ? reinterpret_cast<char*>(address) : nullptr);
  }
}

struct Coordinates {
  int at[5] = {};
  Coordinates(const int* from, int dims) { std::copy(from, from + dims, at); }
};

}  // namespace

void tensor_prefetch(const unsigned long long* map) {
  TensorFacts f;
  if (!read_map(map, f)) fail("a tensor copy's map is none");
}

void tensor_load(uint32_t to, const unsigned long long* map, uint32_t barrier, const int* at,
                 int dims, uint32_t mask) {
  const TensorFacts t = facts_of(map, static_cast<uint32_t>(dims), to, at);
  const Coordinates c(at, dims);
  const uint32_t tile = to & 0xffffff;
  each_element(t, c.at, [](uint32_t, const char* from) {
    if (from) check_unwritten(from, 1, 1);
  });
  start_copy(targets(to, barrier, mask), tile, barrier & 0xffffff, t.box_bytes(),
             [=](Arena& arena) {
               each_element(t, c.at, [&](uint32_t offset, const char* from) {
                 uint8_t* const place = arena.bytes.data() + swizzled(tile + offset, t.swizzle);
                 if (from) {
                   std::memcpy(place, from, t.element);
                 } else {
                   std::memset(place, 0, t.element);
                 }
               });
             });
}

void tensor_store(const unsigned long long* map, uint32_t from, const int* at, int dims) {
  const TensorFacts t = facts_of(map, static_cast<uint32_t>(dims), from, at);
  for (int d = 0; d < dims; ++d) {
    // An H200 calls it an illegal instruction; loads may begin there.
    if (at[d] < 0) fail("a tensor store begins before the tensor");
  }
  const Coordinates c(at, dims);
  const SharedPlace p = locate(from);
  each_element(t, c.at, [](uint32_t, const char* to) {
    if (to) claim(to, 1, 1);
  });
  start_store(from, t.box_bytes(), [=] {
    each_element(t, c.at, [&](uint32_t offset, char* to) {
      const uint8_t* const place = p.owner->arena.bytes.data() + swizzled(p.at + offset, t.swizzle);
      if (to) std::memcpy(to, place, t.element);
    });
  });
}

}  // namespace emulation
