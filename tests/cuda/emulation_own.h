// SPDX-License-Identifier: Apache-2.0
// Registers of one thread, and what works on them beside it.
#pragma once

#include <memory>
#include <vector>

#include "tests/cuda/emulation_block.h"

namespace emulation {

/// Registers that a product of the warpgroup holds until the thread waited for its group.
struct Flight {
  int64_t first, end;
  uint32_t group;
};

/// Registers of whatever type; what was not written is NaN.
struct Registers {
  Registers(int64_t elements, size_t element, const char* name);
  Registers(const Registers&) = delete;
  ~Registers();
  void check_landed(int64_t i);
  /// A product takes registers from `first` on.
  void take_off(int64_t first, int64_t count, uint32_t group);

  int64_t elements;
  std::unique_ptr<char[]> bytes;
  std::unique_ptr<uint32_t[]> touched;  ///< by the thread: the number of fences it had passed, + 1
  std::vector<Flight> flights;
  bool flies = false;  ///< whether there are flights
  const char* name;
};

template <class T>
struct Own : Registers {
  using Element = T;
  Own(int64_t elements, const char* name)
      : Registers(elements, sizeof(T), name), values(reinterpret_cast<T*>(bytes.get())) {}
  T& operator[](int64_t i) {
    check(i, elements, name);
    if (flies) check_landed(i);
    touched[i] = fence_round;
    return values[i];
  }
  T* const values;
};

}  // namespace emulation
