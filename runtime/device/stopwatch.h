// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "include/hone/error.h"
#include "runtime/device/gpu.h"

namespace hone::runtime {

/// Times what is enqueued in the GPU's own stream, by the device's clock. The context is the
/// calling thread's.
class Stopwatch {
 public:
  explicit Stopwatch(Gpu& gpu) : gpu_(gpu) {}
  ~Stopwatch();
  Stopwatch(const Stopwatch&) = delete;
  Stopwatch& operator=(const Stopwatch&) = delete;

  Result<Done> start();
  /// Waits for the work since `start`, and tells how long it took. Past Gpu::limit_waits the GPU is
  /// given up.
  Result<Done> stop(double* us);

 private:
  int wait(bool* in_time);

  Gpu& gpu_;
  void* begin_ = nullptr;
  void* end_ = nullptr;
};

}  // namespace hone::runtime
