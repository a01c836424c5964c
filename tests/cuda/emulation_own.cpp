// SPDX-License-Identifier: Apache-2.0
#include "tests/cuda/emulation_own.h"

#include <cstring>
#include <exception>

namespace emulation {

Registers::Registers(int64_t elements, size_t element, const char* name)
    : elements(elements),
      bytes(new char[static_cast<size_t>(elements) * element]),
      touched(new uint32_t[static_cast<size_t>(elements)]()),
      name(name) {
  std::memset(bytes.get(), 0xff, static_cast<size_t>(elements) * element);
}

Registers::~Registers() {
  for (const Flight& f : flights) {
    if (f.group <= self().products_done || std::uncaught_exceptions()) continue;
    if (cluster->fault.empty()) {
      cluster->fault = "a thread leaves " + std::string(name) + " before wgmma_wait";
    }
  }
}

void Registers::check_landed(int64_t i) {
  std::erase_if(flights, [](const Flight& f) { return f.group <= self().products_done; });
  flies = !flights.empty();
  for (const Flight& f : flights) {
    if (i < f.first || i >= f.end) continue;
    fail(std::string(name) + "[" + std::to_string(i) +
         "] is touched before wgmma_wait for the product that has it");
  }
}

void Registers::take_off(int64_t first, int64_t count, uint32_t group) {
  check(first, elements, name);
  check(first + count - 1, elements, name);
  for (int64_t i = first; i < first + count; ++i) {
    if (touched[static_cast<size_t>(i)] != fence_round) continue;
    fail(std::string(name) + "[" + std::to_string(i) +
         "] is touched, and no wgmma_fence comes before the product that takes it");
  }
  flights.push_back({first, first + count, group});
  flies = true;
}

}  // namespace emulation
