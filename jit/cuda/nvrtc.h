// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "include/hone/error.h"
#include "jit/cuda/source.h"

namespace hone::jit {

/// What NVRTC made of a source.
struct CudaBinary {
  std::string ptx;
  std::vector<uint8_t> cubin;  ///< empty where the compiler makes none for that GPU
  std::string log;             ///< warnings, and what each kernel takes: resources.h
};

/// NVIDIA's runtime compiler, opened at run time: the build needs nothing of it. HONE_NVRTC names
/// the library where it is not found by itself.
class Nvrtc {
 public:
  /// Opens the library; an error where there is none, saying what was tried.
  static Result<Nvrtc> open();
  Nvrtc(Nvrtc&&) noexcept;
  Nvrtc& operator=(Nvrtc&&) = delete;
  ~Nvrtc();

  int major() const { return major_; }
  int minor() const { return minor_; }
  /// Compute capabilities that it compiles for, ten times each, with all that they have.
  std::vector<int> architectures() const;
  /// The latest of them up to `sm`: `sm` where it makes machine code for it or cannot be asked; 0:
  /// none.
  int latest(int sm) const;
  /// Whether it makes machine code for a compute capability; true where it cannot be asked.
  bool knows(int sm) const { return latest(sm) == sm; }
  /// Compiles kernels for a GPU, or where `ptx` is not 0, to PTX of that capability, which a driver
  /// translates for a later one. An error names the line of the source, or the GPUs that it knows.
  Result<CudaBinary> compile(const CudaSource& source, int sm, int ptx = 0) const;
  /// For a GPU that is newer than this compiler: PTX of the latest one before it that is known,
  /// which the driver there translates. An error where there is none, or where the kernels use what
  /// only one GPU has.
  Result<CudaBinary> compile_for_later(const CudaSource& source, int sm) const;

 private:
  struct Functions;
  Nvrtc() = default;
  Result<CudaBinary> run(const CudaSource& source, const std::string& architecture) const;
  Failure unknown(int sm) const;

  void* library_ = nullptr;
  std::shared_ptr<const Functions> functions_;
  int major_ = 0, minor_ = 0;
};

}  // namespace hone::jit
