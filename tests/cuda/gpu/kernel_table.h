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
  std::string (*run)(const unsigned* grid, const unsigned* block, unsigned shared_bytes,
                     void* const* parameters);
};

template <class... P>
struct Caller {
  static constexpr size_t kBytes[] = {sizeof(P)..., 0};
  template <void (*kKernel)(P...), size_t... I>
  static std::string call(const unsigned* grid, const unsigned* block, unsigned shared_bytes,
                          void* const* parameters, std::index_sequence<I...>) {
    return launch({grid[0], grid[1], grid[2]}, {block[0], block[1], block[2]}, shared_bytes,
                  [parameters] {
                    kKernel(*static_cast<std::remove_const_t<P>*>(parameters[I])...);
                  });
  }
  template <void (*kKernel)(P...)>
  static std::string run(const unsigned* grid, const unsigned* block, unsigned shared_bytes,
                         void* const* parameters) {
    return call<kKernel>(grid, block, shared_bytes, parameters,
                         std::make_index_sequence<sizeof...(P)>());
  }
};

template <class... P>
Caller<P...> caller_of(void (*)(P...));

}  // namespace emulation

#define HONE_ENTRY(kernel, threads, shared)                                                    \
  {                                                                                            \
#kernel, threads,                                                                          \
        static_cast <                                                                          \
            int>(sizeof(decltype(emulation::caller_of(kernel))::kBytes) / sizeof(size_t)) - 1, \
        decltype(emulation::caller_of(kernel))::kBytes, shared,                                \
        &decltype(emulation::caller_of(kernel))::run < kernel>                                 \
  }
