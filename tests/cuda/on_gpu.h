// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

#include "include/hone/hone.h"

namespace hone::tests {

/// For a scope the machine has a GPU: the emulated one, behaving as `settings` (HONE_GPU_... of
/// tests/cuda/gpu/README.md) say.
class OnGpu {
 public:
  using Settings = std::initializer_list<std::pair<const char*, std::string>>;
  explicit OnGpu(Settings settings = {});
  ~OnGpu();
  OnGpu(const OnGpu&) = delete;
  OnGpu& operator=(const OnGpu&) = delete;

  /// Calls of a function of the driver so far, or how many things are alive ("live.bytes").
  static long long count(const char* what);
  /// Calls of all functions of the driver so far.
  static long long calls();

 private:
  std::vector<const char*> set_;
};

/// An engine on the GPU with a cache in memory.
Engine gpu_engine(std::string target = "cuda", std::string cache = ":memory:");

}  // namespace hone::tests
