// SPDX-License-Identifier: Apache-2.0
#include "runtime/device/memory_pool.h"

#include <fmt/format.h>

#include <bit>

#include "runtime/device/gpu.h"

namespace hone::runtime {
namespace {

constexpr int64_t kSmallest = 512;
constexpr int64_t kLargestPower = int64_t{32} << 20;
constexpr int64_t kGranule = int64_t{2} << 20;
constexpr int64_t kMost = int64_t{1} << 50;

int64_t size_class(int64_t bytes) {
  if (bytes <= kSmallest) return kSmallest;
  if (bytes > kLargestPower) return (bytes + kGranule - 1) / kGranule * kGranule;
  return static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(bytes)));
}

}  // namespace

int MemoryPool::allocate(int64_t bytes, uint64_t* block) {
  return gpu_.driver().allocate(block, static_cast<size_t>(bytes));
}

/// The context is in use. A fault of the work that it waits for loses the GPU.
void MemoryPool::free(uint64_t block) {
  if (gpu_.lost()) return;
  if (const int error = gpu_.driver().free(block)) gpu_.failed(error, "freeing device memory");
}

/// The mutex is held, the context in use.
void MemoryPool::free_kept() {
  if (kept_ == 0 || gpu_.lost()) return;
  gpu_.driver().context_synchronize();
  for (auto& [key, blocks] : shelves_) {
    for (const uint64_t block : blocks) {
      free(block);
      used_ -= key.second;
    }
  }
  shelves_.clear();
  kept_ = 0;
}

Result<uint64_t> MemoryPool::take(int64_t bytes, void* stream) {
  const auto full = [&](int64_t size) {
    return Failure{ErrorCode::kMemory,
                   fmt::format("{} bytes of device memory are wanted; {} of {} allowed are in use",
                               size, used_ - kept_, ceiling_)};
  };
  const std::lock_guard lock(mutex_);
  if (bytes > kMost) return full(bytes);
  const int64_t size = size_class(bytes);
  if (const auto shelf = shelves_.find({stream, size});
      shelf != shelves_.end() && !shelf->second.empty()) {
    const uint64_t block = shelf->second.back();
    shelf->second.pop_back();
    kept_ -= size;
    return block;
  }
  const UseGpu use(gpu_);
  if (used_ + size > ceiling_) free_kept();
  if (used_ + size > ceiling_) return full(size);
  uint64_t block = 0;
  int error = allocate(size, &block);
  if (error != 0 && kept_ > 0) {
    free_kept();
    error = allocate(size, &block);
  }
  if (error != 0) {
    return gpu_.failed(error, fmt::format("allocating {} bytes of device memory, with {} in use",
                                          size, used_ - kept_));
  }
  used_ += size;
  return block;
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

void MemoryPool::trim() {
  const std::lock_guard lock(mutex_);
  const UseGpu use(gpu_);
  free_kept();
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
