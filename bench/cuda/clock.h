// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "include/hone/error.h"
#include "runtime/device/gpu.h"

namespace hone::bench {

/// Something that solves a problem on a GPU.
struct GpuContender {
  std::string name;
  /// Puts one solution, with operand set `set`, into the stream of the race.
  std::function<Result<Done>(size_t set)> enqueue;
  std::vector<double> samples_us;  ///< of one solution, a sample a round
  double median_us() const;
};

/// Where contenders run and are timed.
class GpuClock {
 public:
  /// A stream and two events of `gpu`.
  static Result<std::unique_ptr<GpuClock>> create(std::shared_ptr<runtime::Gpu> gpu);
  ~GpuClock();
  GpuClock(const GpuClock&) = delete;
  GpuClock& operator=(const GpuClock&) = delete;

  void* stream() const { return stream_; }
  /// Times all contenders in turns: `rounds` samples of at least `sample_us` each between events of
  /// the device, every solution with another of `sets` operand sets.
  Result<Done> race(std::vector<GpuContender>& contenders, size_t sets, int rounds,
                    double sample_us);
  /// 10^9 bytes a second that a copy within the device reads and writes together.
  Result<double> copy_gbps(int rounds);

 private:
  explicit GpuClock(std::shared_ptr<runtime::Gpu> gpu) : gpu_(std::move(gpu)) {}
  Result<double> sample_us(GpuContender& c, int64_t count, size_t sets);

  std::shared_ptr<runtime::Gpu> gpu_;
  void* stream_ = nullptr;
  void* begin_ = nullptr;
  void* end_ = nullptr;
  size_t next_ = 0;  ///< operand set
};

}  // namespace hone::bench
