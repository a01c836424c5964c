// SPDX-License-Identifier: Apache-2.0
#include "runtime/device/gpu.h"

#include <fmt/format.h>

#include <cctype>
#include <limits>

namespace hone::runtime {
namespace {

using jit::CudaDriver;

// Attributes by their numbers in the driver's ABI.
enum Attribute : int {
  kThreadsPerBlock = 1,
  kGridX = 5,  // y and z follow
  kClockRate = 13,
  kMultiprocessors = 16,
  kMemoryClockRate = 36,
  kBusWidth = 37,
  kL2Bytes = 38,
  kMajor = 75,
  kMinor = 76,
  kReadsPageable = 88,
  kSharedPerBlock = 97,
};

/// Past it GPUs share a count of resets, and lose more than they have to.
/// Chosen: more GPUs than a machine has (not measured).
constexpr size_t kMostGpus = 64;

/// How often this process has reset the primary context of each GPU. The driver tells nobody, and a
/// new context has the handle of the old one.
struct Resets {
  std::mutex mutex;  ///< held while contexts are retained, reset and released
  std::array<std::atomic<int>, kMostGpus> counts;
};
Resets resets;

Result<GpuFacts> facts_of(const CudaDriver& driver, int ordinal) {
  int device = 0;
  const auto fail = [&](int error) {
    return driver.failure(error, fmt::format("asking about GPU {}", ordinal));
  };
  if (const int error = driver.device(&device, ordinal)) return fail(error);
  GpuFacts f;
  f.ordinal = ordinal;
  int error = 0;
  const auto ask = [&](int attribute) {
    int value = 0;
    if (error == 0) error = driver.device_attribute(&value, attribute, device);
    return value;
  };
  f.sm = 10 * ask(kMajor) + ask(kMinor);
  f.sms = ask(kMultiprocessors);
  f.mhz = ask(kClockRate) / 1000;
  f.memory_mhz = ask(kMemoryClockRate) / 1000;
  f.bus_bits = ask(kBusWidth);
  f.l2 = ask(kL2Bytes);
  f.shared_per_block = ask(kSharedPerBlock);
  f.threads_per_block = ask(kThreadsPerBlock);
  for (int axis = 0; axis < 3; ++axis) f.grid[static_cast<size_t>(axis)] = ask(kGridX + axis);
  f.reads_host = ask(kReadsPageable) != 0;
  char name[256] = {};
  if (error == 0) error = driver.device_name(name, sizeof name - 1, device);
  size_t bytes = 0;
  if (error == 0) error = driver.device_memory(&bytes, device);
  if (error != 0) return fail(error);
  f.name = name;
  f.memory = static_cast<int64_t>(bytes);
  return f;
}

/// `NVIDIA H200` as a word of a target: `nvidia-h200`.
std::string word_of(const std::string& name) {
  std::string word;
  for (const char c : name) {
    const auto u = static_cast<unsigned char>(c);
    if (std::isalnum(u) != 0) {
      word += static_cast<char>(std::tolower(u));
    } else if (!word.empty() && word.back() != '-') {
      word += '-';
    }
  }
  while (word.ends_with('-')) word.pop_back();
  return word;
}

}  // namespace

ir::Target target_of(const GpuFacts& facts) {
  ir::Target t;
  t.sm = facts.sm;
  t.gpu = word_of(facts.name);
  t.sms = facts.sms;
  t.mhz = facts.mhz;
  t.memory_mhz = facts.memory_mhz;
  t.l2 = facts.l2;
  return t;
}

Result<std::vector<GpuFacts>> list_gpus(const CudaDriver& driver) {
  int count = 0;
  if (const int error = driver.device_count(&count)) {
    return driver.failure(error, "counting the GPUs");
  }
  std::vector<GpuFacts> all;
  for (int i = 0; i < count; ++i) {
    auto facts = facts_of(driver, i);
    if (!facts) return facts.failure();
    all.push_back(std::move(*facts));
  }
  return all;
}

UseGpu::UseGpu(Gpu& gpu) : gpu_(gpu) {
  const CudaDriver& driver = gpu.driver();
  error_ = driver.context_current(&before_);
  if (error_ != 0 || before_ == gpu.context()) return;
  error_ = driver.context_use(gpu.context());
  changed_ = error_ == 0;
}

UseGpu::~UseGpu() {
  if (changed_) gpu_.driver().context_use(before_);
}

int Gpu::retain() {
  void* context = nullptr;
  if (const int error = driver_->context_retain(&context, device_)) return error;
  context_ = context;
  const UseGpu use(*this);
  return use.error() != 0 ? use.error() : driver_->context_synchronize();
}

/// As `retain`; where a kernel has faulted in this process, with a context that is begun anew.
/// Whatever else uses the old one cannot any more.
int Gpu::retain_anew() {
  const std::lock_guard lock(resets.mutex);
  std::atomic<int>& count = resets.counts[static_cast<size_t>(facts_.ordinal) % kMostGpus];
  resets_ = &count;
  epoch_ = count;
  const int error = retain();
  if (error == 0 || !CudaDriver::loses_context(error)) return error;
  if (context_) driver_->context_release(device_);
  context_ = nullptr;
  driver_->context_reset(device_);
  epoch_ = ++count;
  return retain();
}

Result<std::shared_ptr<Gpu>> Gpu::open(int ordinal, int64_t ceiling) {
  std::shared_ptr<Gpu> gpu(new Gpu);
  auto started = gpu->start(ordinal, ceiling);
  if (!started) return started.failure();
  return gpu;
}

Result<Done> Gpu::start(int ordinal, int64_t ceiling) {
  auto driver = CudaDriver::open();
  if (!driver) return driver.failure();
  driver_ = *driver;
  int count = 0;
  if (const int error = driver_->device_count(&count)) {
    return driver_->failure(error, "counting the GPUs");
  }
  if (ordinal < 0 || ordinal >= count) {
    return Failure{ErrorCode::kArgument,
                   fmt::format("there is no GPU {}; the driver knows {}", ordinal, count)};
  }
  auto facts = facts_of(*driver_, ordinal);
  if (!facts) return facts.failure();
  facts_ = *facts;
  driver_->device(&device_, ordinal);
  if (const int error = retain_anew()) return driver_->failure(error, "opening " + facts_.name);
  memory_ = std::make_unique<MemoryPool>(*this, ceiling > 0 ? ceiling : facts_.memory);
  return make_things();
}

Result<Done> Gpu::make_things() {
  const UseGpu use(*this);
  if (const int error = driver_->stream_create(&stream_, 0)) {
    return failed(error, "making a stream");
  }
  if (const int error = driver_->allocate(&fine_, sizeof(int64_t))) {
    return failed(error, "allocating device memory");
  }
  const int64_t fine = std::numeric_limits<int64_t>::max();
  if (const int error = driver_->to_device(fine_, &fine, sizeof fine)) {
    return failed(error, "copying to the device");
  }
  return Done{};
}

Gpu::~Gpu() {
  if (!context_) return;
  const std::lock_guard lock(resets.mutex);
  // What stands at this address by now is another engine's.
  if (reset()) return;
  {
    const UseGpu use(*this);
    if (!lost() && use.error() == 0) {
      // Calls are over; what they left in the streams may not be.
      driver_->context_synchronize();
      if (memory_) memory_->trim();
      if (fine_) driver_->free(fine_);
      if (stream_) driver_->stream_destroy(stream_);
    }
  }
  driver_->context_release(device_);
}

Failure Gpu::failed(int error, std::string_view doing) {
  Failure f = driver_->failure(error, fmt::format("{} ({})", doing, facts_.name));
  if (!CudaDriver::loses_context(error)) return f;
  const std::lock_guard lock(mutex_);
  if (cause_.empty()) cause_ = f.message;
  lost_ = true;
  f.message +=
      "\n  this GPU takes no more work from this engine; a new one begins a context of its own "
      "where the driver allows it, else the process has to start again";
  return f;
}

Failure Gpu::given_up(std::string_view doing) {
  Failure f{ErrorCode::kDevice,
            fmt::format("{} took more than {} ms on {}", doing, wait_ms_.load(), facts_.name)};
  const std::lock_guard lock(mutex_);
  if (cause_.empty()) cause_ = f.message;
  hung_ = lost_ = true;
  return f;
}

Failure Gpu::why_lost() const {
  const std::lock_guard lock(mutex_);
  return Failure{ErrorCode::kDevice,
                 "an earlier fault took the GPU from this engine; make a new engine. It was: " +
                     (cause_.empty() ? "a fault of another engine on this GPU" : cause_)};
}

}  // namespace hone::runtime
