// SPDX-License-Identifier: Apache-2.0
#include "runtime/device/memory_pool.h"

#include <fmt/format.h>

#include <bit>
#include <utility>

#include "runtime/device/gpu.h"

namespace hone::runtime {
namespace {

/// Chosen: powers of two, then pages of 2 MB; the last is more than any memory (not measured).
constexpr int64_t kSmallest = 512;
constexpr int64_t kLargestPower = int64_t{32} << 20;
constexpr int64_t kGranule = int64_t{2} << 20;
constexpr int64_t kMost = int64_t{1} << 50;

/// Of the driver's errors.
/// Fixed by: the driver's ABI.
constexpr int kOutOfMemory = 2;

int64_t size_class(int64_t bytes) {
  if (bytes <= kSmallest) return kSmallest;
  if (bytes > kLargestPower) return (bytes + kGranule - 1) / kGranule * kGranule;
  return static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(bytes)));
}

}  // namespace

/// Frees blocks that are on no shelf; how many bytes have gone. Those that the driver does not free
/// are kept for the next `trim`, which waits before it tries again.
int64_t MemoryPool::free(const std::vector<Block>& blocks) {
  int64_t freed = 0;
  std::vector<Block> refused;
  // A lost context takes its memory along, and its addresses may be another's by now.
  if (gpu_.lost()) {
    for (const Block& b : blocks) freed += b.bytes;
  } else {
    // Without the mutex: it waits for the device, and others need not.
    const UseGpu use(gpu_);
    for (const Block& b : blocks) {
      int error = use.error();
      if (error == 0 && !gpu_.lost()) error = gpu_.driver().free(b.address);
      // A fault of the work that the driver waits for loses the GPU.
      if (error != 0) gpu_.failed(error, "freeing device memory");
      if (error == 0 || gpu_.lost()) {
        freed += b.bytes;
      } else {
        refused.push_back(b);
      }
    }
  }
  const std::lock_guard lock(mutex_);
  used_ -= freed;
  for (const Block& b : refused) {
    shelves_[{unfreed(), b.bytes}].push_back(b.address);
    kept_ += b.bytes;
  }
  return freed;
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

void MemoryPool::release(uint64_t block, int64_t bytes) { free({{block, size_class(bytes)}}); }

void MemoryPool::forget(void* stream) {
  std::vector<Block> blocks;
  {
    const std::lock_guard lock(mutex_);
    for (auto& [key, shelf] : shelves_) {
      if (key.first != stream) continue;
      for (const uint64_t block : shelf) blocks.push_back({block, key.second});
      kept_ -= key.second * static_cast<int64_t>(shelf.size());
    }
    std::erase_if(shelves_, [&](const auto& shelf) { return shelf.first.first == stream; });
  }
  free(blocks);
}

bool MemoryPool::trim() {
  // Who comes while another does it waits for what that frees.
  std::unique_lock trimming(trimming_, std::try_to_lock);
  const bool waits = !trimming.owns_lock();
  if (waits) trimming.lock();
  if (gpu_.lost()) return false;
  Shelves shelves;
  int64_t bytes = 0;
  {
    const std::lock_guard lock(mutex_);
    shelves.swap(shelves_);
    bytes = std::exchange(kept_, 0);
  }
  if (bytes == 0) return waits;
  const UseGpu use(gpu_);
  const int error = use.error() != 0 ? use.error() : gpu_.driver().context_synchronize();
  if (error != 0) {
    // Work may still use the blocks.
    gpu_.failed(error, "waiting for the device");
    put_back(shelves, bytes);
    return false;
  }
  std::vector<Block> blocks;
  for (const auto& [key, shelf] : shelves) {
    for (const uint64_t block : shelf) blocks.push_back({block, key.second});
  }
  return free(blocks) > 0 || waits;
}

void MemoryPool::put_back(const Shelves& shelves, int64_t bytes) {
  const std::lock_guard lock(mutex_);
  for (const auto& [key, blocks] : shelves) {
    std::vector<uint64_t>& shelf = shelves_[key];
    shelf.insert(shelf.end(), blocks.begin(), blocks.end());
  }
  kept_ += bytes;
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
