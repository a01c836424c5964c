// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "jit/cuda/source.h"

namespace hone::tests {

/// Kernels compiled for this machine against emulation.h: many sources in one library, since the
/// compiler costs more than they do.
class EmulatedCode {
 public:
  EmulatedCode() = default;
  EmulatedCode(EmulatedCode&&) noexcept;
  EmulatedCode& operator=(EmulatedCode&&) = delete;
  ~EmulatedCode();

  /// Takes a source in; its number.
  int add(jit::CudaSource source);
  /// Compiles all of them; what the compiler says, or "".
  std::string compile();
  /// Runs launch `launch` of source `source`; what it did that it must not, or "".
  std::string run(int source, int launch, const int64_t* args, std::span<const int64_t> dims) const;

 private:
  std::vector<jit::CudaSource> sources_;
  std::string folder_;
  void* library_ = nullptr;
};

}  // namespace hone::tests
