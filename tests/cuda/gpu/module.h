// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "tests/cuda/gpu/abi.h"

namespace hone::tests {

/// A kernel of a loaded module.
struct Kernel {
  std::string name;
  int threads = 0;  ///< that a block has at most
  std::vector<size_t> parameter_bytes;
  int static_shared = 0;
  int cluster[3] = {1, 1, 1};     ///< blocks that run together
  int dynamic_shared = 48 << 10;  ///< that a launch may ask for
  std::string (*run)(const unsigned*, const unsigned*, unsigned, void* const*) = nullptr;
};

/// A loaded image.
struct Module {
  ~Module();
  void* library = nullptr;
  std::vector<Kernel> kernels;
};

/// Loads a CUBIN or PTX of the emulated compiler for a GPU into `module`; the driver's result.
/// `why` says what is wrong.
int load(const void* image, int sm, int driver_version, Module& module, std::string* why);

/// How a PTX of the emulated compiler begins the line that names its image.
inline constexpr const char* kImageMark = "// image: ";

}  // namespace hone::tests
