// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "jit/cuda/nvrtc.h"
#include "tests/cuda/gpu/abi.h"

namespace hone::tests {

/// A driver by its own functions, nothing of the project in between.
struct RawDriver {
#define HONE_CUDA_FUNCTION(member, symbol, parameters) int(*member) parameters = nullptr;
#include "jit/cuda/driver_functions.def"
#undef HONE_CUDA_FUNCTION
  long long (*count)(const char* what) = nullptr;  ///< of the emulated one
};

/// Path of an emulated library of this build: "cuda" or "nvrtc".
std::string emulated_library(const char* which);

/// The emulated driver, opened.
RawDriver raw_driver();
/// The driver that this machine has, or nothing.
std::optional<RawDriver> device_driver();

/// Sets environment variables, each `NAME=VALUE`, for as long as it lives.
class WithEnvironment {
 public:
  explicit WithEnvironment(const std::vector<std::string>& variables);
  ~WithEnvironment();
  WithEnvironment(const WithEnvironment&) = delete;
  WithEnvironment& operator=(const WithEnvironment&) = delete;

 private:
  std::map<std::string, std::string> before_;
  std::vector<std::string> fresh_;
};

}  // namespace hone::tests
