// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "runtime/check/fixture.h"
#include "runtime/device/gpu.h"

namespace hone::runtime {

/// Device memory with a pattern before and behind it, from the pool.
class GuardedDeviceMemory {
 public:
  GuardedDeviceMemory() = default;
  GuardedDeviceMemory(GuardedDeviceMemory&& other) noexcept { swap(other); }
  GuardedDeviceMemory& operator=(GuardedDeviceMemory&& other) noexcept {
    swap(other);
    return *this;
  }
  ~GuardedDeviceMemory();

  /// `bytes` (0 is legal), aligned to 256 or to `align` where that is more, holding NaNs.
  static Result<GuardedDeviceMemory> allocate(std::shared_ptr<Gpu> gpu, int64_t bytes,
                                              int64_t align = 1);
  uint64_t data() const { return data_; }
  int64_t bytes() const { return bytes_; }
  /// True when the pattern has changed.
  Result<bool> overwritten() const;

 private:
  void swap(GuardedDeviceMemory& other) noexcept;

  std::shared_ptr<Gpu> gpu_;
  uint64_t block_ = 0;
  int64_t block_bytes_ = 0;
  uint64_t data_ = 0;
  int64_t bytes_ = 0;
};

/// The tensors of a fixture on a GPU, in one or several copies. Timing takes the copies in turns,
/// so that operands do not stay in the cache.
class DeviceMirror {
 public:
  /// Allocates and fills all copies.
  static Result<DeviceMirror> create(std::shared_ptr<Gpu> gpu, const Fixture& fixture,
                                     int copies = 1);
  /// As many copies as together exceed the device's cache twice, up to 64.
  static int copies_past_cache(const Gpu& gpu, const Fixture& fixture);

  const std::shared_ptr<Gpu>& gpu() const { return gpu_; }
  int copies() const { return static_cast<int>(copies_.size()); }
  /// Where parameter `param` begins in a copy.
  uint64_t address(int copy, size_t param) const {
    return copies_[static_cast<size_t>(copy)][param].data();
  }
  /// Outputs as the fixture has them now, to the first copy.
  Result<Done> upload(const Fixture& fixture);
  /// What the first copy's outputs hold, to the fixture.
  Result<Done> download(const Fixture& fixture);
  /// The first damaged parameter of the first copy, or "". It has writes around it, or is an input
  /// that no longer equals the fixture's.
  Result<std::string> overwritten(const Fixture& fixture) const;

 private:
  explicit DeviceMirror(std::shared_ptr<Gpu> gpu) : gpu_(std::move(gpu)) {}
  Result<bool> differs(size_t param, const jit::TensorView& tensor) const;

  std::shared_ptr<Gpu> gpu_;
  std::vector<std::vector<GuardedDeviceMemory>> copies_;
};

}  // namespace hone::runtime
