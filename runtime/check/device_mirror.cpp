// SPDX-License-Identifier: Apache-2.0
#include "runtime/check/device_mirror.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "runtime/fine.h"

namespace hone::runtime {
namespace {

constexpr int64_t kZone = 256;
constexpr unsigned char kPattern = 0xa5;
constexpr unsigned char kNan = 0xff;
constexpr int kMostCopies = 64;
constexpr int64_t kPart = int64_t{4} << 20;  ///< bytes that are looked at at a time

int64_t bytes_of(const jit::TensorView& v) { return jit::span_of(v) * size_of(v.type); }

/// Calls `f(param, buffer)` for each parameter; stops at what is not fine.
template <class F>
Result<Done> each_param(const Fixture& fixture, const F& f) {
  size_t p = 0;
  for (const ir::Buffer& b : fixture.problem().program.buffers) {
    if (b.role == ir::Role::kTemp) continue;
    if (auto failure = f(p, b); !failure) return failure.failure();
    ++p;
  }
  return Done{};
}

}  // namespace

GuardedDeviceMemory::~GuardedDeviceMemory() {
  if (block_ && !gpu_->lost()) gpu_->memory().give(block_, block_bytes_, gpu_->stream());
}

void GuardedDeviceMemory::swap(GuardedDeviceMemory& other) noexcept {
  std::swap(gpu_, other.gpu_);
  std::swap(block_, other.block_);
  std::swap(block_bytes_, other.block_bytes_);
  std::swap(data_, other.data_);
  std::swap(bytes_, other.bytes_);
}

Result<GuardedDeviceMemory> GuardedDeviceMemory::allocate(std::shared_ptr<Gpu> gpu, int64_t bytes,
                                                          int64_t align) {
  GuardedDeviceMemory m;
  m.gpu_ = std::move(gpu);
  Gpu& g = *m.gpu_;
  const int64_t zone = std::max(kZone, align);
  m.bytes_ = bytes;
  m.block_bytes_ = bytes + zone + kZone + (align > kZone ? align : 0);
  auto block = g.memory().take(m.block_bytes_, g.stream());
  if (!block) return block.failure();
  m.block_ = *block;
  const auto at = static_cast<int64_t>(m.block_) + zone;
  m.data_ = static_cast<uint64_t>((at + zone - 1) / zone * zone);
  const UseGpu use(g);
  const jit::CudaDriver& driver = g.driver();
  int error = driver.fill_on(m.data_ - kZone, kPattern, kZone, g.stream());
  const auto end = m.data_ + static_cast<uint64_t>(bytes);
  if (error == 0) error = driver.fill_on(end, kPattern, kZone, g.stream());
  if (error == 0 && bytes > 0) {
    error = driver.fill_on(m.data_, kNan, static_cast<size_t>(bytes), g.stream());
  }
  if (error != 0) return g.failed(error, "filling device memory");
  return m;
}

Result<bool> GuardedDeviceMemory::overwritten() const {
  if (!block_) return false;
  const UseGpu use(*gpu_);
  for (const uint64_t at : {data_ - kZone, data_ + static_cast<uint64_t>(bytes_)}) {
    std::array<unsigned char, kZone> zone;
    if (const int error = gpu_->driver().to_host(zone.data(), at, kZone)) {
      return gpu_->failed(error, "looking around device memory");
    }
    if (std::any_of(zone.begin(), zone.end(), [](unsigned char c) { return c != kPattern; })) {
      return true;
    }
  }
  return false;
}

int DeviceMirror::copies_past_cache(const Gpu& gpu, const Fixture& fixture) {
  int64_t bytes = 1;
  for (const jit::TensorView& v : fixture.params()) bytes += bytes_of(v) + 2 * kZone;
  return static_cast<int>(std::clamp<int64_t>(2 * gpu.facts().l2 / bytes + 1, 1, kMostCopies));
}

Result<DeviceMirror> DeviceMirror::create(std::shared_ptr<Gpu> gpu, const Fixture& fixture,
                                          int copies) {
  DeviceMirror mirror(std::move(gpu));
  Gpu& g = *mirror.gpu_;
  for (int c = 0; c < copies; ++c) {
    std::vector<GuardedDeviceMemory> tensors;
    const UseGpu use(g);
    auto made = each_param(fixture, [&](size_t p, const ir::Buffer& b) -> Result<Done> {
      const jit::TensorView& v = fixture.params()[p];
      auto memory = GuardedDeviceMemory::allocate(mirror.gpu_, bytes_of(v), b.align);
      if (!memory) return memory.failure();
      tensors.push_back(std::move(*memory));
      if (bytes_of(v) == 0) return Done{};
      const int error =
          g.driver().to_device(tensors.back().data(), v.data, static_cast<size_t>(bytes_of(v)));
      return error == 0 ? fine() : g.failed(error, "copying to the device");
    });
    // Fewer copies do where the memory has an end.
    if (!made && made.failure().code == ErrorCode::kMemory && c > 0) break;
    if (!made) return made.failure();
    mirror.copies_.push_back(std::move(tensors));
  }
  return mirror;
}

Result<Done> DeviceMirror::upload(const Fixture& fixture) {
  const UseGpu use(*gpu_);
  return each_param(fixture, [&](size_t p, const ir::Buffer& b) -> Result<Done> {
    const jit::TensorView& v = fixture.params()[p];
    if (b.role == ir::Role::kInput || bytes_of(v) == 0) return Done{};
    const int error =
        gpu_->driver().to_device(address(0, p), v.data, static_cast<size_t>(bytes_of(v)));
    return error == 0 ? fine() : gpu_->failed(error, "copying to the device");
  });
}

Result<Done> DeviceMirror::download(const Fixture& fixture) {
  const UseGpu use(*gpu_);
  return each_param(fixture, [&](size_t p, const ir::Buffer& b) -> Result<Done> {
    const jit::TensorView& v = fixture.params()[p];
    if (b.role == ir::Role::kInput || bytes_of(v) == 0) return Done{};
    const int error =
        gpu_->driver().to_host(v.data, address(0, p), static_cast<size_t>(bytes_of(v)));
    return error == 0 ? fine() : gpu_->failed(error, "copying from the device");
  });
}

/// Whether the first copy holds something else than `tensor`.
Result<bool> DeviceMirror::differs(size_t param, const jit::TensorView& tensor) const {
  const UseGpu use(*gpu_);
  const int64_t bytes = bytes_of(tensor);
  std::vector<unsigned char> part(static_cast<size_t>(std::min(bytes, kPart)));
  for (int64_t at = 0; at < bytes; at += kPart) {
    const auto size = static_cast<size_t>(std::min(bytes - at, kPart));
    const uint64_t from = address(0, param) + static_cast<uint64_t>(at);
    if (const int error = gpu_->driver().to_host(part.data(), from, size)) {
      return gpu_->failed(error, "looking at an input on the device");
    }
    if (std::memcmp(part.data(), static_cast<const char*>(tensor.data) + at, size) != 0) {
      return true;
    }
  }
  return false;
}

Result<std::string> DeviceMirror::overwritten(const Fixture& fixture) const {
  std::string found;
  auto failure = each_param(fixture, [&](size_t p, const ir::Buffer& b) -> Result<Done> {
    auto changed = copies_[0][p].overwritten();
    if (changed && !*changed && b.role == ir::Role::kInput) {
      changed = differs(p, fixture.params()[p]);
    }
    if (!changed) return changed.failure();
    if (*changed && found.empty()) found = b.name;
    return Done{};
  });
  if (!failure) return failure.failure();
  return found;
}

}  // namespace hone::runtime
