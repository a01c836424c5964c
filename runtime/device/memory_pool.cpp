// SPDX-License-Identifier: Apache-2.0
#include "runtime/device/memory_pool.h"

#include <fmt/format.h>

#include <bit>
#include <utility>

#include "runtime/device/gpu.h"

namespace hone::runtime {
namespace {

constexpr int64_t kSmallest = 512;
constexpr int64_t kLargestPower = int64_t{32} << 20;
constexpr int64_t kGranule = int64_t{2} << 20;
constexpr int64_t kMost = int64_t{1} << 50;

/// Of the driver's errors.
constexpr int kOutOfMemory = 2;

int64_t size_class(int64_t bytes) {
  if (bytes <= kSmallest) return kSmallest;
  if (bytes > kLargestPower) return (bytes + kGranule - 1) / kGranule * kGranule;
  return static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(bytes)));
}

}  // namespace

/// The context is in use. A fault of the work that it waits for loses the GPU.
void MemoryPool::free(uint64_t block) {
  if (gpu_.lost()) return;
  if (const int error = gpu_.driver().free(block)) gpu_.failed(error, "freeing device memory");
}

/// A kept block of the stream, if there is one.
std::optional<uint64_t> MemoryPool::take_kept(int64_t size, void* stream) {
  const std::lock_guard lock(mutex_);
  const auto shelf = shelves_.find({stream, size});
  if (shelf == shelves_.end() || shelf->second.empty()) return std::nullopt;
  const uint64_t block = shelf->second.back();
  shelf->second.pop_back();
  kept_ -= size;
  return block;
}

/// Counts a block to come; false past the ceiling.
bool MemoryPool::reserve(int64_t size) {
  const std::lock_guard lock(mutex_);
  if (used_ + size > ceiling_) return false;
  used_ += size;
  return true;
}

Result<uint64_t> MemoryPool::take(int64_t bytes, void* stream) {
  const auto full = [&](int64_t size) {
    return Failure{ErrorCode::kMemory,
                   fmt::format("{} bytes of device memory are wanted; {} of {} allowed are in use",
                               size, used() - kept(), ceiling_)};
  };
  if (bytes > kMost) return full(bytes);
  const int64_t size = size_class(bytes);
  Failure failure = {ErrorCode::kMemory, {}};
  bool trimmed = false;
  do {
    if (const auto block = take_kept(size, stream)) return *block;
    if (!reserve(size)) {
      failure = full(size);
      continue;
    }
    const UseGpu use(gpu_);
    uint64_t block = 0;
    const int error = gpu_.driver().allocate(&block, static_cast<size_t>(size));
    if (error == 0) return block;
    {
      const std::lock_guard lock(mutex_);
      used_ -= size;
    }
    failure = gpu_.failed(error, fmt::format("allocating {} bytes of device memory, with {} in use",
                                             size, used() - kept()));
    if (error != kOutOfMemory) return failure;
  } while (!std::exchange(trimmed, true) && trim());
  return failure;
}

void MemoryPool::give(uint64_t block, int64_t bytes, void* stream) {
  const std::lock_guard lock(mutex_);
  const int64_t size = size_class(bytes);
  shelves_[{stream, size}].push_back(block);
  kept_ += size;
}

void MemoryPool::release(uint64_t block, int64_t bytes) {
  // A lost context takes its memory along, and its addresses may be another's by now.
  if (!gpu_.lost()) {
    // Without the mutex: it waits for the device, and others need not.
    const UseGpu use(gpu_);
    free(block);
  }
  const std::lock_guard lock(mutex_);
  used_ -= size_class(bytes);
}

void MemoryPool::forget(void* stream) {
  std::vector<uint64_t> blocks;
  int64_t bytes = 0;
  {
    const std::lock_guard lock(mutex_);
    for (auto& [key, shelf] : shelves_) {
      if (key.first != stream) continue;
      blocks.insert(blocks.end(), shelf.begin(), shelf.end());
      bytes += key.second * static_cast<int64_t>(shelf.size());
    }
    std::erase_if(shelves_, [&](const auto& shelf) { return shelf.first.first == stream; });
    kept_ -= bytes;
  }
  {
    // Without the mutex, as in `release`.
    const UseGpu use(gpu_);
    for (const uint64_t block : blocks) free(block);
  }
  const std::lock_guard lock(mutex_);
  used_ -= bytes;
}

bool MemoryPool::trim() {
  // Who comes while another does it waits for what that frees.
  std::unique_lock trimming(trimming_, std::try_to_lock);
  const bool waits = !trimming.owns_lock();
  if (waits) trimming.lock();
  if (gpu_.lost()) return false;
  std::map<std::pair<void*, int64_t>, std::vector<uint64_t>> shelves;
  int64_t bytes = 0;
  {
    const std::lock_guard lock(mutex_);
    shelves.swap(shelves_);
    bytes = std::exchange(kept_, 0);
  }
  if (bytes == 0) return waits;
  const UseGpu use(gpu_);
  gpu_.driver().context_synchronize();
  for (const auto& [key, blocks] : shelves) {
    for (const uint64_t block : blocks) free(block);
  }
  const std::lock_guard lock(mutex_);
  used_ -= bytes;
  return true;
}

int64_t MemoryPool::used() const {
  const std::lock_guard lock(mutex_);
  return used_;
}

int64_t MemoryPool::kept() const {
  const std::lock_guard lock(mutex_);
  return kept_;
}

}  // namespace hone::runtime
