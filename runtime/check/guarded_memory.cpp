// SPDX-License-Identifier: Apache-2.0
#include "runtime/check/guarded_memory.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "runtime/machine/memory.h"

namespace hone::runtime {
namespace {

/// Chosen: a byte that no data have by habit; a small part of memory (not measured).
constexpr uint8_t kGuardedMemoryPattern = 0xC7;
constexpr size_t kPoolBytes = size_t{256} << 20;
constexpr size_t kFarPages = 16;

}  // namespace

GuardedMemory::~GuardedMemory() {
  if (map_) ::munmap(map_, map_size_);
}

void GuardedMemory::swap(GuardedMemory& other) noexcept {
  std::swap(map_, other.map_);
  std::swap(map_size_, other.map_size_);
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  std::swap(guard_, other.guard_);
}

Result<GuardedMemory> GuardedMemory::allocate(size_t bytes, Guard guard, size_t stagger) {
  const auto page = static_cast<size_t>(::sysconf(_SC_PAGESIZE));
  const size_t margin = guard == Guard::kFar ? kFarPages * page : 0;
  const size_t body =
      std::max<size_t>((bytes + stagger + page - 1) / page * page, page) + 2 * margin;
  GuardedMemory m;
  m.map_size_ = body + 2 * page;
  void* map = ::mmap(nullptr, m.map_size_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (map == MAP_FAILED) {
    return Failure{ErrorCode::kMemory, "the system does not give " + bytes_text(m.map_size_)};
  }
  m.map_ = static_cast<uint8_t*>(map);
  if (::mprotect(m.map_ + page, body, PROT_READ | PROT_WRITE) != 0) {
    return Failure{ErrorCode::kMemory, "the system does not give " + bytes_text(body)};
  }
  m.size_ = bytes;
  m.guard_ = guard;
  m.data_ = guard == Guard::kAfter ? m.map_ + page + body - bytes - stagger
                                   : m.map_ + page + margin + stagger;
  std::memset(m.map_ + page, kGuardedMemoryPattern, static_cast<size_t>(m.data_ - m.map_) - page);
  uint8_t* end = m.data_ + bytes;
  std::memset(end, kGuardedMemoryPattern, static_cast<size_t>(m.map_ + page + body - end));
  return m;
}

void GuardedMemory::protect(bool readable_only) {
  const auto page = static_cast<size_t>(::sysconf(_SC_PAGESIZE));
  ::mprotect(map_ + page, map_size_ - 2 * page, readable_only ? PROT_READ : PROT_READ | PROT_WRITE);
}

bool GuardedMemory::overwritten() const {
  if (!map_) return false;
  const auto page = static_cast<size_t>(::sysconf(_SC_PAGESIZE));
  const auto changed = [](uint8_t b) { return b != kGuardedMemoryPattern; };
  return std::any_of(map_ + page, data_, changed) ||
         std::any_of(data_ + size_, map_ + map_size_ - page, changed);
}

Result<GuardedMemory> GuardedPool::take(size_t bytes, Guard guard) {
  const auto fits = std::find_if(blocks_.begin(), blocks_.end(), [&](const GuardedMemory& b) {
    return b.size() == bytes && b.guard() == guard;
  });
  if (fits == blocks_.end()) return GuardedMemory::allocate(bytes, guard);
  GuardedMemory block = std::move(*fits);
  blocks_.erase(fits);
  bytes_ -= bytes;
  return block;
}

void GuardedPool::give(GuardedMemory block) {
  if (!block.data()) return;
  bytes_ += block.size();
  blocks_.push_back(std::move(block));
  while (bytes_ > kPoolBytes) {
    bytes_ -= blocks_.front().size();
    blocks_.erase(blocks_.begin());
  }
}

}  // namespace hone::runtime
