// SPDX-License-Identifier: Apache-2.0
#include "tests/cuda/gpu/memory.h"

#include <fmt/format.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstring>

namespace hone::tests {
namespace {

constexpr size_t kSpace = size_t{1} << 38;
constexpr size_t kPage = 4096;
constexpr size_t kAlignment = 256;
/// Filling more than this would make large allocations slow; the rest stays zero.
constexpr size_t kFilled = size_t{16} << 20;

size_t up(size_t n, size_t to) { return (n + to - 1) / to * to; }

void* reserve(size_t bytes) {
  void* const at =
      mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return at == MAP_FAILED ? nullptr : at;
}

}  // namespace

Memory::Memory() {
  void* const seen = reserve(kSpace);
  void* const behind = reserve(kSpace);
  if (!seen || !behind) return;  // every allocation then fails
  begin_ = reinterpret_cast<uint64_t>(seen);
  end_ = begin_ + kSpace;
  next_ = begin_ + kPage;
  shift_ = static_cast<int64_t>(reinterpret_cast<uint64_t>(behind) - begin_);
}

Memory::~Memory() {
  if (!begin_) return;
  munmap(reinterpret_cast<void*>(begin_), kSpace);
  munmap(bytes_at(begin_), kSpace);
}

uint64_t Memory::allocate(size_t bytes) {
  const std::lock_guard lock(mutex_);
  const size_t padded = up(bytes, kAlignment), whole = up(padded, kPage);
  if (!begin_ || whole > kSpace || next_ + whole + kPage > end_) return 0;
  void* const pages = bytes_at(next_);
  if (mmap(pages, whole, PROT_READ | PROT_WRITE,
           MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE, -1, 0) == MAP_FAILED) {
    return 0;
  }
  const uint64_t address = next_ + whole - padded;
  // 0xff is NaN in every float and -1 in every integer.
  std::memset(bytes_at(address), 0xff, std::min(padded, kFilled));
  next_ += whole + kPage;
  blocks_[address] = {bytes, true};
  live_bytes_ += bytes;
  ++live_blocks_;
  return address;
}

std::string Memory::release(uint64_t address) {
  const std::lock_guard lock(mutex_);
  const auto found = blocks_.find(address);
  if (found == blocks_.end()) return fmt::format("{:#x} is freed and was never allocated", address);
  if (!found->second.live) return fmt::format("{:#x} is freed twice", address);
  found->second.live = false;
  live_bytes_ -= found->second.bytes;
  --live_blocks_;
  const uint64_t first = address / kPage * kPage;
  const size_t padded = up(found->second.bytes, kAlignment);
  mmap(bytes_at(first), address + padded - first, PROT_NONE,
       MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE, -1, 0);
  return "";
}

std::map<uint64_t, Memory::Block>::const_iterator Memory::around(uint64_t address) const {
  auto after = blocks_.upper_bound(address);
  return after == blocks_.begin() ? blocks_.end() : std::prev(after);
}

bool Memory::find(uint64_t address, uint64_t* start, size_t* bytes) const {
  const std::lock_guard lock(mutex_);
  const auto at = around(address);
  if (at == blocks_.end() || !at->second.live || address - at->first >= at->second.bytes) {
    return false;
  }
  *start = at->first;
  *bytes = at->second.bytes;
  return true;
}

std::string Memory::objection(uint64_t address, size_t bytes) const {
  const std::lock_guard lock(mutex_);
  if (!owns(address)) return fmt::format("{:#x} is not memory of this device", address);
  const auto at = around(address);
  if (at == blocks_.end() || address - at->first > at->second.bytes) {
    return fmt::format("{:#x} was never allocated", address);
  }
  const size_t offset = address - at->first;
  if (!at->second.live) {
    return fmt::format("{:#x} is byte {} of {} that were freed", address, offset, at->second.bytes);
  }
  if (bytes > at->second.bytes - offset) {
    return fmt::format("{} bytes from byte {} on of {} that were allocated", bytes, offset,
                       at->second.bytes);
  }
  return "";
}

}  // namespace hone::tests
