// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "runtime/check/site.h"
#include "runtime/device/gpu.h"
#include "runtime/device/stopwatch.h"
#include "runtime/fine.h"

namespace hone::runtime {
namespace {

/// Fixed by: the alignment of device memory.
constexpr int64_t kZone = 256;
constexpr unsigned char kPattern = 0xa5;
constexpr unsigned char kNan = 0xff;

uint64_t address_of(const void* data) { return reinterpret_cast<uintptr_t>(data); }

/// A block of a GPU's memory pool, which has zones with a pattern before and behind its data.
class DeviceBlock final : public Block {
 public:
  DeviceBlock(std::shared_ptr<Gpu> gpu, uint64_t taken, int64_t taken_bytes, uint64_t at,
              int64_t bytes)
      : Block(reinterpret_cast<void*>(at), bytes),
        gpu_(std::move(gpu)),
        taken_(taken),
        taken_bytes_(taken_bytes) {}
  ~DeviceBlock() override {
    if (!gpu_->lost()) gpu_->memory().give(taken_, taken_bytes_, gpu_->stream());
  }

  /// Fills zones and data.
  Result<Done> fill() {
    const UseGpu use(*gpu_);
    int error = fill(begin() - kZone, kPattern, kZone);
    if (error == 0) error = fill(end(), kPattern, kZone);
    if (error == 0 && bytes() > 0) error = fill(begin(), kNan, bytes());
    return error == 0 ? fine() : gpu_->failed(error, "filling device memory");
  }
  Result<Done> write(const void* from) override {
    if (bytes() == 0) return Done{};
    const UseGpu use(*gpu_);
    const int error = gpu_->driver().to_device(begin(), from, static_cast<size_t>(bytes()));
    return error == 0 ? fine() : gpu_->failed(error, "copying to the device");
  }
  Result<Done> copy(const Block& from) override {
    const UseGpu use(*gpu_);
    const int error = gpu_->driver().copy_on(begin(), address_of(from.data()),
                                             static_cast<size_t>(bytes()), gpu_->stream());
    return error == 0 ? fine() : gpu_->failed(error, "copying on the device");
  }
  Result<Done> read(void* to, int64_t at, int64_t n) const override {
    return read_at(to, begin() + static_cast<uint64_t>(at), n);
  }
  Result<bool> overwritten() const override {
    for (const uint64_t at : {begin() - kZone, end()}) {
      std::array<unsigned char, kZone> zone;
      if (auto f = read_at(zone.data(), at, kZone); !f) return f.failure();
      if (std::any_of(zone.begin(), zone.end(), [](unsigned char c) { return c != kPattern; })) {
        return true;
      }
    }
    return false;
  }

 private:
  uint64_t begin() const { return address_of(data()); }
  uint64_t end() const { return begin() + static_cast<uint64_t>(bytes()); }
  int fill(uint64_t at, unsigned char with, int64_t n) {
    return gpu_->driver().fill_on(at, with, static_cast<size_t>(n), gpu_->stream());
  }
  Result<Done> read_at(void* to, uint64_t from, int64_t n) const {
    if (n == 0) return Done{};
    const UseGpu use(*gpu_);
    const int error = gpu_->driver().to_host(to, from, static_cast<size_t>(n));
    return error == 0 ? fine() : gpu_->failed(error, "copying from the device");
  }

  std::shared_ptr<Gpu> gpu_;
  uint64_t taken_;
  int64_t taken_bytes_;
};

/// Runs until three samples agree, since an idle GPU has a slow clock; what a call takes then. Two
/// of a clock that rises may be alike by chance.
template <class Run>
Result<double> warm_up(const Run& run, double sample_us) {
  // Chosen: noise of a clock, and time that warming up may take (not measured).
  constexpr double kAlike = 0.02;
  constexpr double kLongestUs = 100e3;  // in all: clocks that do not settle by then do not
  auto first = run(1);
  if (!first) return first.failure();
  auto each = run(4);
  double all = 0, earlier = INFINITY;
  for (double length = sample_us; each && all < kLongestUs; length *= 2) {
    const double before = *each;
    const auto n = static_cast<int64_t>(std::ceil(length / std::max(before, 0.5)));
    each = run(n);
    const double most = std::max(before, earlier), least = std::min(before, earlier);
    if (!each || (*each <= least * (1 + kAlike) && *each >= most * (1 - kAlike))) return each;
    all += static_cast<double>(n) * *each;
    earlier = before;
  }
  return each;
}

class DeviceSite final : public Site {
 public:
  explicit DeviceSite(std::shared_ptr<Gpu> gpu) : gpu_(std::move(gpu)) {}

  Result<std::unique_ptr<Block>> take(int64_t bytes, int64_t align, Guard) override {
    const int64_t unit = std::max(kZone, align);
    const int64_t taken_bytes = bytes + unit + kZone + (align > kZone ? align : 0);
    auto taken = gpu_->memory().take(taken_bytes, gpu_->stream());
    if (!taken) return taken.failure();
    const auto least = static_cast<int64_t>(*taken) + unit;
    const auto at = static_cast<uint64_t>((least + unit - 1) / unit * unit);
    auto block = std::make_unique<DeviceBlock>(gpu_, *taken, taken_bytes, at, bytes);
    if (auto f = block->fill(); !f) return f.failure();
    return std::unique_ptr<Block>(std::move(block));
  }
  bool is_host() const override { return false; }
  int64_t cache_bytes() const override { return gpu_->facts().l2; }
  int workers() const override { return 0; }

  Result<Done> run(const SiteLaunch& launch) override {
    const UseGpu use(*gpu_);
    return launch.executable.run(launch.number, launch.slots, {0, 0, nullptr, gpu_->stream()});
  }
  Result<double> timed(const Work& work) override {
    const UseGpu use(*gpu_);
    Stopwatch watch(*gpu_);
    double us = 0;
    if (auto f = watch.start(); !f) return f.failure();
    if (auto f = work(); !f) return f.failure();
    if (auto f = watch.stop(&us); !f) return f.failure();
    return us;
  }
  Result<Samples> sample(const Calls& calls, bool, const SampleOptions& options,
                         const std::function<void()>& between) override {
    const auto each_of = [&](int64_t n) -> Result<double> {
      if (between) between();
      const auto us = timed([&] { return calls(n); });
      if (!us) return us.failure();
      return std::max(*us / static_cast<double>(n), 0.01);
    };
    auto each = warm_up(each_of, options.sample_us);
    Samples samples;
    for (int i = 0; i < options.samples && each; ++i) {
      each = each_of(static_cast<int64_t>(std::ceil(options.sample_us / *each)));
      if (!each) break;
      samples.us.push_back(*each);
      if (options.give_up_us > 0 && *each > options.give_up_us) break;
    }
    if (!each) return each.failure();
    samples.quiet = static_cast<int>(samples.us.size());
    return samples;
  }
  std::string_view verdict_on(const Failure&) const override {
    return gpu_->hung() ? "hung" : gpu_->lost() ? "faulted" : "refused";
  }

 private:
  std::shared_ptr<Gpu> gpu_;
};

}  // namespace

std::unique_ptr<Site> device_site(std::shared_ptr<Gpu> gpu) {
  return std::make_unique<DeviceSite>(std::move(gpu));
}

}  // namespace hone::runtime
