// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <string>
#include <vector>

#include "jit/cuda/source.h"

namespace hone::tests {

/// Kernels compiled for this machine against emulation.h: many sources in one library, since the
/// compiler costs more than they do, and not too many, since its memory grows with them.
class EmulatedCode {
 public:
  EmulatedCode() = default;
  EmulatedCode(EmulatedCode&&) noexcept;
  EmulatedCode& operator=(EmulatedCode&&) = delete;
  ~EmulatedCode();

  /// Takes a source in; its number.
  int add(jit::CudaSource source);
  /// From now on what warps access is counted.
  void record() { records_ = true; }
  /// Compiles all of them; what the compiler says, or "".
  std::string compile();
  /// Runs launch `launch` of source `source`; what it did that it must not, or "".
  std::string run(int source, int launch, const int64_t* args, std::span<const int64_t> dims) const;
  /// Of what ran since the last time it was asked: requests of warps as global loads, global
  /// stores, loads and stores of shared memory, then their sectors, and rounds through the banks.
  std::array<double, 8> recorded() const;

 private:
  /// Sources `begin` to `end` - 1, in a library.
  struct Unit {
    size_t begin = 0, end = 0;
    void* library = nullptr;
  };
  std::string compile(size_t u, const std::string& header);
  std::string text_of(size_t s) const;

  std::vector<jit::CudaSource> sources_;
  std::vector<Unit> units_;
  std::string folder_;
  bool records_ = false;
};

}  // namespace hone::tests
