// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "include/hone/error.h"
#include "jit/cuda/driver.h"
#include "jit/ir/target.h"
#include "runtime/device/memory_pool.h"

namespace hone::runtime {

/// What a GPU says of itself.
struct GpuFacts {
  int ordinal = 0;               ///< among the driver's devices
  std::string name;              ///< `NVIDIA H200`
  int sm = 0;                    ///< compute capability, ten times
  int sms = 0;                   ///< multiprocessors
  int mhz = 0;                   ///< of the multiprocessors
  int memory_mhz = 0;            ///< of the memory
  int bus_bits = 0;              ///< width of the memory's bus
  int64_t l2 = 0;                ///< bytes
  int64_t memory = 0;            ///< bytes
  int64_t shared_per_block = 0;  ///< bytes that a block may have when it asks for them
  int threads_per_block = 0;
  std::array<int64_t, 3> grid{};  ///< the most blocks along each axis
  bool reads_host = false;        ///< any memory of the host is its own as well
};

/// The target that a GPU is.
ir::Target target_of(const GpuFacts& facts);

/// Facts of every GPU that the driver knows.
Result<std::vector<GpuFacts>> list_gpus(const jit::CudaDriver& driver);

/// One GPU with its primary context, which the whole process shares. What uses it keeps it alive.
class Gpu {
 public:
  /// Retains the context of device `ordinal`. A context that an earlier fault has lost is begun
  /// anew. `ceiling`: bytes that the memory pool may take; 0: what the device has.
  static Result<std::shared_ptr<Gpu>> open(int ordinal, int64_t ceiling);
  ~Gpu();
  Gpu(const Gpu&) = delete;
  Gpu& operator=(const Gpu&) = delete;

  const jit::CudaDriver& driver() const { return *driver_; }
  const GpuFacts& facts() const { return facts_; }
  void* context() const { return context_; }
  /// The engine's own stream.
  void* stream() const { return stream_; }
  /// Device memory of an int64 that is INT64_MAX: the status word of kernels that check nothing.
  uint64_t fine() const { return fine_; }
  MemoryPool& memory() { return *memory_; }

  /// The driver's error in words. An error that loses the context is remembered: from then on
  /// nothing is freed and every call fails. Later errors would only repeat it.
  Failure failed(int error, std::string_view doing);
  /// Whether a fault has made the context unusable, or another engine has reset it after one.
  bool lost() const { return lost_.load(std::memory_order_relaxed) || reset(); }
  /// Limits how long a Stopwatch waits for work from now on; 0: for ever.
  void limit_waits(int64_t ms) { wait_ms_ = ms; }
  int64_t wait_ms() const { return wait_ms_; }
  /// Gives up on work that does not end: as after a fault, nothing is freed, and every call fails.
  Failure given_up(std::string_view doing);
  /// Whether that is why the context is lost.
  bool hung() const { return hung_.load(std::memory_order_relaxed); }
  /// Why the context was lost, and what helps.
  Failure why_lost() const;

 private:
  Gpu() = default;
  Result<Done> start(int ordinal, int64_t ceiling);
  int retain();
  int retain_anew();
  bool reset() const { return resets_->load(std::memory_order_relaxed) != epoch_; }
  Result<Done> make_things();

  std::shared_ptr<const jit::CudaDriver> driver_;
  GpuFacts facts_;
  int device_ = 0;
  void* context_ = nullptr;
  const std::atomic<int>* resets_ = nullptr;  ///< of the device's context in this process
  int epoch_ = 0;                             ///< resets before `context_` was retained
  void* stream_ = nullptr;
  uint64_t fine_ = 0;
  std::unique_ptr<MemoryPool> memory_;
  std::atomic<bool> lost_{false}, hung_{false};
  std::atomic<int64_t> wait_ms_{0};
  mutable std::mutex mutex_;
  std::string cause_;
};

/// Makes a GPU's context the calling thread's, for a scope.
class UseGpu {
 public:
  explicit UseGpu(Gpu& gpu);
  ~UseGpu();
  UseGpu(const UseGpu&) = delete;
  UseGpu& operator=(const UseGpu&) = delete;
  /// What the driver said; 0 when all is well.
  int error() const { return error_; }

 private:
  Gpu& gpu_;
  void* before_ = nullptr;
  bool changed_ = false;
  int error_ = 0;
};

}  // namespace hone::runtime
