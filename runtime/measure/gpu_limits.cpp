// SPDX-License-Identifier: Apache-2.0
#include "runtime/measure/gpu_limits.h"

#include <algorithm>
#include <iterator>

#include "runtime/device/stopwatch.h"

namespace hone::runtime {
namespace {

/// Multiply-adds of one multiprocessor in a clock.
struct Rates {
  int sm;
  int f32;
  int f64;
  int tensor;  ///< of factors of two bytes; half for four, twice for one
};
constexpr Rates kRates[] = {
    {75, 64, 2, 512},  {80, 64, 32, 1024},  {86, 128, 2, 512},
    {89, 128, 2, 512}, {90, 128, 64, 2048}, {100, 128, 64, 4096},
};

/// The row of that capability, or the nearest below.
const Rates& rates(int sm) {
  const Rates* best = std::begin(kRates);
  for (const Rates& r : kRates) {
    if (r.sm <= sm) best = &r;
  }
  return *best;
}

double gflops_of(const ir::Target& t, double each) { return 2e-3 * each * t.sms * t.mhz; }

/// A pair of buffers between which is copied.
class Copier {
 public:
  Copier(Gpu& gpu, int64_t bytes) : gpu_(gpu), bytes_(bytes) {}
  ~Copier() {
    for (const uint64_t b : blocks_) gpu_.memory().release(b, bytes_);
  }
  Copier(const Copier&) = delete;
  Copier& operator=(const Copier&) = delete;

  Result<Done> start() {
    for (int i = 0; i < 2; ++i) {
      auto block = gpu_.memory().hold(bytes_);
      if (!block) return block.failure();
      blocks_.push_back(*block);
    }
    return Done{};
  }
  Result<Done> copy(int n, double* us) {
    Stopwatch watch(gpu_);
    if (auto f = watch.start(); !f) return f.failure();
    for (int i = 0; i < n; ++i) {
      const int error =
          gpu_.driver().copy_on(blocks_[1], blocks_[0], static_cast<size_t>(bytes_), gpu_.stream());
      if (error != 0) return gpu_.failed(error, "copying on the device");
    }
    return watch.stop(us);
  }

 private:
  Gpu& gpu_;
  int64_t bytes_;
  std::vector<uint64_t> blocks_;
};

}  // namespace

double gpu_gflops(const ir::Target& target, bool doubles) {
  const Rates& r = rates(target.sm);
  return gflops_of(target, doubles ? r.f64 : r.f32);
}

double gpu_tensor_gflops(const ir::Target& target, DType factors) {
  return gflops_of(target, 2.0 * rates(target.sm).tensor / size_of(factors));
}

Result<double> gpu_copy_gbps(Gpu& gpu, int64_t footprint) {
  // Chosen: time for the probes (not measured).
  constexpr int kTries = 5;
  const int64_t bytes = std::max<int64_t>(footprint / 2, 1 << 16);
  const UseGpu use(gpu);
  Copier copier(gpu, bytes);
  if (auto f = copier.start(); !f) return f.failure();
  // Enough that they take a millisecond and more on a fast device.
  const int n = static_cast<int>(std::clamp<int64_t>((int64_t{2} << 30) / bytes, 1, 200));
  double best = 0;
  for (int i = 0; i <= kTries; ++i) {
    double us = 0;
    if (auto f = copier.copy(n, &us); !f) return f.failure();
    // The first warms up.
    if (i > 0 && us > 0) best = std::max(best, 2e-3 * static_cast<double>(bytes) * n / us);
  }
  return best;
}

}  // namespace hone::runtime
