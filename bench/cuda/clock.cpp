// SPDX-License-Identifier: Apache-2.0
#include "bench/cuda/clock.h"

#include <algorithm>
#include <cmath>
#include <memory>

#include "runtime/fine.h"

namespace hone::bench {
namespace {}  // namespace

double GpuContender::median_us() const {
  if (samples_us.empty()) return 0;
  std::vector<double> v = samples_us;
  std::sort(v.begin(), v.end());
  return v[v.size() / 2];
}

Result<std::unique_ptr<GpuClock>> GpuClock::create(std::shared_ptr<runtime::Gpu> gpu) {
  std::unique_ptr<GpuClock> out(new GpuClock(std::move(gpu)));
  const runtime::UseGpu use(*out->gpu_);
  const jit::CudaDriver& driver = out->gpu_->driver();
  int error = use.error();
  if (!error) error = driver.stream_create(&out->stream_, 1);
  if (!error) error = driver.event_create(&out->begin_, 0);
  if (!error) error = driver.event_create(&out->end_, 0);
  if (error) return out->gpu_->failed(error, "making a stream and events");
  return out;
}

GpuClock::~GpuClock() {
  if (gpu_->lost()) return;
  const runtime::UseGpu use(*gpu_);
  if (begin_) gpu_->driver().event_destroy(begin_);
  if (end_) gpu_->driver().event_destroy(end_);
  if (stream_) gpu_->driver().stream_destroy(stream_);
}

Result<double> GpuClock::sample_us(GpuContender& c, int64_t count, size_t sets) {
  const jit::CudaDriver& driver = gpu_->driver();
  int error = driver.event_record(begin_, stream_);
  for (int64_t i = 0; i < count && !error; ++i) {
    if (auto f = c.enqueue(next_++ % sets); !f) return f.failure();
  }
  if (!error) error = driver.event_record(end_, stream_);
  if (!error) error = driver.event_synchronize(end_);
  float ms = 0;
  if (!error) error = driver.event_elapsed(&ms, begin_, end_);
  if (error) return gpu_->failed(error, "timing " + c.name);
  return std::max(1e3 * static_cast<double>(ms), 0.01) / static_cast<double>(count);
}

Result<Done> GpuClock::race(std::vector<GpuContender>& contenders, size_t sets, int rounds,
                            double length_us) {
  const runtime::UseGpu use(*gpu_);
  std::vector<int64_t> counts;
  for (GpuContender& c : contenders) {
    // The first run loads code; the second tells how long one takes.
    if (auto first = sample_us(c, 1, sets); !first) return first.failure();
    auto once = sample_us(c, 1, sets);
    if (!once) return once.failure();
    counts.push_back(
        std::clamp<int64_t>(static_cast<int64_t>(std::ceil(length_us / *once)), 1, 1000));
  }
  for (int round = 0; round < rounds; ++round) {
    for (size_t i = 0; i < contenders.size(); ++i) {
      auto us = sample_us(contenders[i], counts[i], sets);
      if (!us) return us.failure();
      contenders[i].samples_us.push_back(*us);
    }
  }
  return Done{};
}

Result<double> GpuClock::copy_gbps(int rounds) {
  const runtime::UseGpu use(*gpu_);
  const jit::CudaDriver& driver = gpu_->driver();
  const auto bytes =
      static_cast<size_t>(std::min<int64_t>(int64_t{1} << 30, gpu_->facts().memory / 8));
  uint64_t from = 0, to = 0;
  int error = driver.allocate(&from, bytes);
  if (!error) error = driver.allocate(&to, bytes);
  if (!error) error = driver.fill_on(from, 1, bytes, stream_);
  double us = 0;
  Result<Done> failed = Done{};
  if (!error) {
    std::vector<GpuContender> copy{{"copy",
                                    [&](size_t) {
                                      const int e = driver.copy_on(to, from, bytes, stream_);
                                      return e ? gpu_->failed(e, "copying") : runtime::fine();
                                    },
                                    {}}};
    failed = race(copy, 1, rounds, 1000);
    us = copy[0].median_us();
  }
  if (to) driver.free(to);
  if (from) driver.free(from);
  if (error) return gpu_->failed(error, "measuring the copy bandwidth");
  if (!failed) return failed.failure();
  return 2 * static_cast<double>(bytes) / us * 1e-3;
}

}  // namespace hone::bench
