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

/// NVRTC, opened when it is first needed, behind what earlier runs have kept. Thread-safe; several
/// sources compile at a time.
class GpuCompiler {
 public:
  /// `driver_version`: of the driver that is to load the code, 12040 for 12.4.
  GpuCompiler(BinaryStore store, int driver_version)
      : store_(std::move(store)), driver_version_(driver_version) {}

  /// A source as code for a GPU: kept code where there is some, also where no NVRTC is installed.
  /// An error where it does not compile, or where the driver is too old for what NVRTC makes.
  Result<jit::CudaBinary> compile(const jit::CudaSource& source, int sm);
  /// Begins to compile a source on a thread of its own; `compile` then waits for that one.
  void ahead(jit::CudaSource source, int sm);
  /// Keeps code for the next run: of kernels that serve, not of candidates.
  void keep(const jit::CudaSource& source, int sm, const jit::CudaBinary& binary);
  /// How often NVRTC was called.
  int compiled() const { return compiled_; }

 private:
  Result<const jit::Nvrtc*> nvrtc();
  Result<jit::CudaBinary> compile_now(const jit::CudaSource& source, int sm);
  BinaryKey key_of(const jit::CudaSource& source, int sm, const jit::Nvrtc* nvrtc) const;

  BinaryStore store_;
  int driver_version_;
  std::mutex mutex_;
  std::optional<jit::Nvrtc> nvrtc_;
  std::atomic<int> compiled_{0};
  std::map<std::string, std::future<Result<jit::CudaBinary>>> begun_;  ///< by the source's hash
};

}  // namespace hone::runtime
