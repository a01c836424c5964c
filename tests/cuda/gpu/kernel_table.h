// SPDX-License-Identifier: Apache-2.0
// What a compiled source gives to the emulated driver: its kernels by name, callable with the
// driver's parameters. Included by generated files, after tests/cuda/emulation.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <utility>

namespace emulation {

/// One kernel of the file. The driver's side reads the same layout.
struct KernelEntry {
  const char* name;
  int threads;          ///< that a block has at most
  int parameters;       ///< how many
  const size_t* bytes;  ///< of each parameter
  int shared_bytes;     ///< static
  int cluster[3];       ///< blocks of a cluster
  std::string (*run)(const unsigned* grid, const unsigned* block, unsigned shared_bytes,
                     void* const* parameters);
};

template <class... P>
struct Caller {
  static constexpr size_t kBytes[] = {sizeof(P)..., 0};
  template <void (*kKernel)(P...), unsigned X, unsigned Y, unsigned Z, size_t... I>
  static std::string call(const unsigned* grid, const unsigned* block, unsigned shared_bytes,
                          void* const* parameters, std::index_sequence<I...>) {
    const auto kernel = [](const void* all) {
      auto* const* const each = static_cast<void* const*>(all);
      kKernel(*static_cast<std::remove_const_t<P>*>(each[I])...);
    };
    return launch({grid[0], grid[1], grid[2]}, {block[0], block[1], block[2]}, shared_bytes, kernel,
                  parameters, {X, Y, Z});
  }
  template <void (*kKernel)(P...), unsigned X, unsigned Y, unsigned Z>
  static std::string run(const unsigned* grid, const unsigned* block, unsigned shared_bytes,
                         void* const* parameters) {
    return call<kKernel, X, Y, Z>(grid, block, shared_bytes, parameters,
                                  std::make_index_sequence<sizeof...(P)>());
  }
};

template <class... P>
Caller<P...> caller_of(void (*)(P...));

template <class... P>
constexpr int count_of(void (*)(P...)) {
  return sizeof...(P);
}

}  // namespace emulation

// clang-format off
#define HONE_ENTRY(kernel, threads, shared, x, y, z)                              \
  {#kernel, threads, emulation::count_of(kernel),                                 \
   decltype(emulation::caller_of(kernel))::kBytes, shared, {x, y, z},             \
   &decltype(emulation::caller_of(kernel))::template run<kernel, x, y, z>}
// clang-format on
