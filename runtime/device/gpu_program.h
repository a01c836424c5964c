// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "jit/backend.h"
#include "jit/cuda/nvrtc.h"
#include "jit/cuda/source.h"
#include "runtime/device/gpu.h"
#include "runtime/device/tensor_maps.h"

namespace hone::runtime {

/// One launch of a GpuProgram.
struct GpuLaunch {
  std::string name;
  void* function = nullptr;
  std::array<ir::Expr, 3> grid;  ///< over dims by number
  bool fixed = false;            ///< `blocks` holds whatever the dims
  std::array<int64_t, 3> blocks{};
  std::array<unsigned, 3> threads{};
  std::unique_ptr<const TensorMaps> maps;  ///< null: it takes none
  unsigned dynamic_bytes = 0;              ///< shared memory that the launch asks for
  int registers = 0;                       ///< of a thread
  int64_t local_bytes = 0;                 ///< of a thread: what did not fit its registers
};

/// The kernels of a CudaSource on a GPU, ready to be launched.
class GpuProgram final : public jit::Executable {
 public:
  /// Loads machine code; PTX where the compiler made none. An error where the device has less than
  /// a launch takes, or the driver is too old for the code.
  static Result<std::shared_ptr<const GpuProgram>> load(std::shared_ptr<Gpu> gpu,
                                                        const ir::Nest& nest,
                                                        const jit::CudaSource& source,
                                                        const jit::CudaBinary& binary);
  ~GpuProgram() override;

  Gpu& gpu() const { return *gpu_; }
  const std::vector<GpuLaunch>& launches() const { return launches_; }

  /// Enqueues a launch whole, its dims from the slots; see jit::Executable.
  Result<Done> run(size_t launch, const int64_t* slots, const jit::Part& part) const override;
  /// Blocks of a launch under `dims`; false where they are more than the device can have.
  bool blocks_of(size_t launch, std::span<const int64_t> dims,
                 std::array<int64_t, 3>* blocks) const;
  /// Enqueues a launch on filled slots, on the calling thread's context. It is one call of the
  /// driver, and one for each tensor map whose address or dim has changed. Without blocks nothing
  /// is enqueued, and that is no failure.
  Result<Done> enqueue(size_t launch, const int64_t* slots, std::span<const int64_t> dims,
                       void* stream) const;
  /// What a launch on filled slots takes: the slots, and its tensor maps behind them.
  Result<std::vector<int64_t>> parameters(size_t launch, const int64_t* slots,
                                          std::span<const int64_t> dims) const;
  /// The message for a launch past the device's limits.
  Failure too_many(size_t launch, const std::array<int64_t, 3>& blocks) const;

 private:
  explicit GpuProgram(std::shared_ptr<Gpu> gpu) : gpu_(std::move(gpu)) {}
  Result<Done> take(const jit::CudaLaunch& launch);

  std::shared_ptr<Gpu> gpu_;
  void* module_ = nullptr;
  std::vector<GpuLaunch> launches_;
  size_t slots_ = 0;      ///< of the args struct
  size_t first_dim_ = 0;  ///< its slot
  size_t dims_ = 0;
};

}  // namespace hone::runtime
