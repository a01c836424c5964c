// SPDX-License-Identifier: Apache-2.0
// Registers of one thread, and what works on them beside it.
#pragma once

#include <cstring>
#include <exception>

#include "tests/cuda/emulation_block.h"

namespace emulation {

/// Registers that a product of the warpgroup holds until the thread waited for its group.
struct Flight {
  int64_t first, end;
  uint32_t group;
};

/// Registers of one thread; what was not written is NaN.
template <class T>
struct Own {
  using Element = T;
  Own(int64_t elements, const char* name)
      : values(static_cast<size_t>(elements)), touched(values.size()), name(name) {
    std::memset(values.data(), 0xff, values.size() * sizeof(T));
  }
  Own(const Own&) = delete;
  ~Own() {
    for (const Flight& f : flights) {
      if (f.group <= self().products_done || std::uncaught_exceptions()) continue;
      if (cluster->fault.empty()) {
        cluster->fault = "a thread leaves " + std::string(name) + " before wgmma_wait";
      }
    }
  }
  T& operator[](int64_t i) {
    check(i, static_cast<int64_t>(values.size()), name);
    if (!flights.empty()) check_landed(i);
    touched[static_cast<size_t>(i)] = fence_round;
    return values[static_cast<size_t>(i)];
  }
  void check_landed(int64_t i) {
    std::erase_if(flights, [](const Flight& f) { return f.group <= self().products_done; });
    for (const Flight& f : flights) {
      if (i < f.first || i >= f.end) continue;
      fail(std::string(name) + "[" + std::to_string(i) +
           "] is touched before wgmma_wait for the product that has it");
    }
  }
  /// A product takes registers from `first` on.
  T* take_off(int64_t first, int64_t count, uint32_t group) {
    check(first, static_cast<int64_t>(values.size()), name);
    check(first + count - 1, static_cast<int64_t>(values.size()), name);
    for (int64_t i = first; i < first + count; ++i) {
      if (touched[static_cast<size_t>(i)] != fence_round) continue;
      fail(std::string(name) + "[" + std::to_string(i) +
           "] is touched, and no wgmma_fence comes before the product that takes it");
    }
    flights.push_back({first, first + count, group});
    return values.data() + first;
  }
  std::vector<T> values;
  std::vector<uint32_t> touched;  ///< by a thread itself: the number of fences it had passed, + 1
  std::vector<Flight> flights;
  const char* name;
};

}  // namespace emulation
