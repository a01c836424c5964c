// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <functional>
#include <future>
#include <map>
#include <mutex>
#include <optional>
#include <string>

#include "jit/cuda/nvrtc.h"
#include "runtime/cache/binary.h"

namespace hone::runtime {

/// Where machine code for GPUs is kept between runs.
struct BinaryStore {
  std::function<std::optional<Bytes>(const BinaryKey&)> find;
  std::function<void(const BinaryKey&, const Bytes&)> keep;
};

/// A source as code for a GPU.
struct GpuCode {
  jit::CudaBinary binary;
  bool kept = false;  ///< by an earlier run
};

/// NVRTC, opened when it is first needed, behind what earlier runs have kept. Thread-safe; several
/// sources compile at a time.
class GpuCompiler {
 public:
  /// `driver_version`: of the driver that is to load the code, 12040 for 12.4.
  GpuCompiler(BinaryStore store, int driver_version)
      : store_(std::move(store)), driver_version_(driver_version) {}

  /// A source as code for a GPU: kept code where there is some, also where no NVRTC is installed.
  /// PTX where the target says so (`ptx`) or NVRTC does not know the GPU yet. An error where it
  /// does not compile, or where the driver is too old for what NVRTC makes.
  Result<GpuCode> compile(const jit::CudaSource& source, int sm, int ptx = 0);
  /// The same past what earlier runs have kept, for where that does not load.
  Result<GpuCode> compile_anew(const jit::CudaSource& source, int sm, int ptx = 0);
  /// Begins to compile a source on a thread of its own; `compile` then waits for that one.
  void ahead(jit::CudaSource source, int sm, int ptx = 0);
  /// Keeps code for the next run, where it is not yet: of kernels that serve, not of candidates.
  void keep(const jit::CudaSource& source, int sm, const GpuCode& code);
  /// How often NVRTC was called.
  int compiled() const { return compiled_; }

 private:
  Result<const jit::Nvrtc*> nvrtc();
  Result<GpuCode> compile_now(const jit::CudaSource& source, int sm, int ptx);
  BinaryKey key_of(const jit::CudaSource& source, int sm, const jit::Nvrtc* nvrtc) const;

  BinaryStore store_;
  int driver_version_;
  std::mutex mutex_;
  std::optional<jit::Nvrtc> nvrtc_;
  std::atomic<int> compiled_{0};
  std::map<std::string, std::future<Result<GpuCode>>> begun_;  ///< by the source's hash
};

}  // namespace hone::runtime
