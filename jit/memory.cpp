// SPDX-License-Identifier: Apache-2.0
#include "jit/memory.h"

#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <mutex>
#include <optional>
#include <vector>

namespace hone::jit {
namespace {

/// Fixed by: a cache line, and the instruction int3.
constexpr size_t kGranule = 64;
constexpr size_t kBlock = 256 << 10;
constexpr uint8_t kTrap = 0xcc;  // int3: what was never code stops at once

size_t round_up(size_t bytes, size_t to) { return (bytes + to - 1) / to * to; }

Failure refused(const char* call, int error) {
  return {error == ENOMEM ? ErrorCode::kMemory : ErrorCode::kUnsupported,
          fmt::format("executable memory: {}: {}; the interpreter can serve instead", call,
                      std::strerror(error))};
}

/// A file without a name. Kernels that tell executable ones apart want to hear that it is one.
int shared_file() {
  // Fixed by: Linux.
  constexpr unsigned kExec = 0x10;  // MFD_EXEC, since Linux 6.3
  const auto create = [](unsigned flags) {
    return static_cast<int>(::syscall(SYS_memfd_create, "hone-code", flags));
  };
  const int fd = create(MFD_CLOEXEC | kExec);
  return fd < 0 && errno == EINVAL ? create(MFD_CLOEXEC) : fd;
}

/// Pages that are mapped twice and filled from their start. What is released is not filled again
/// before all of the block is: who still holds a stale address meets a trap, not other code.
class Block {
 public:
  static Result<std::unique_ptr<Block>> make(size_t bytes) {
    // Past this limit growing a file is a signal that ends the host, before it is an error.
    rlimit limit{};
    if (::getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur < bytes) {
      return refused("ftruncate", EFBIG);
    }
    const int fd = shared_file();
    if (fd < 0) return refused("memfd_create", errno);
    std::unique_ptr<Block> block(new Block);
    block->size_ = bytes;
    std::optional<Failure> failure;
    if (::ftruncate(fd, static_cast<off_t>(bytes)) != 0) {
      failure = refused("ftruncate", errno);
    } else if (!block->map(fd, PROT_READ | PROT_WRITE, block->write_)) {
      failure = refused("mmap of the writable view", errno);
    } else if (!block->map(fd, PROT_READ | PROT_EXEC, block->run_)) {
      failure = refused("mmap of the executable view", errno);
    }
    ::close(fd);
    if (failure) return *std::move(failure);
    return block;
  }

  ~Block() {
    if (write_) ::munmap(write_, size_);
    if (run_) ::munmap(run_, size_);
  }

  /// The executable address of a copy of `code`, or null where there is no room.
  const uint8_t* add(std::span<const uint8_t> code) {
    const size_t bytes = round_up(code.size(), kGranule);
    if (size_ - filled_ < bytes) return nullptr;
    const size_t offset = filled_;
    std::memcpy(write_ + offset, code.data(), code.size());
    std::memset(write_ + offset + code.size(), kTrap, bytes - code.size());
    filled_ += bytes;
    ++spans_;
    return run_ + offset;
  }

  bool holds(const uint8_t* p) const { return p >= run_ && p < run_ + size_; }

  /// True when that was the last span.
  bool release(const ExecutableSpan& span) {
    std::memset(write_ + (span.data - run_), kTrap, round_up(span.size, kGranule));
    return --spans_ == 0;
  }

  /// Starts over, when no span is left. Closing the view for a moment tells emulators, which see
  /// no write through it, to forget what they translated.
  bool restart() {
    filled_ = 0;
    return ::mprotect(run_, size_, PROT_READ) == 0 &&
           ::mprotect(run_, size_, PROT_READ | PROT_EXEC) == 0;
  }

 private:
  Block() = default;

  bool map(int fd, int protection, uint8_t*& view) {
    void* p = ::mmap(nullptr, size_, protection, MAP_SHARED, fd, 0);
    if (p == MAP_FAILED) return false;
    view = static_cast<uint8_t*>(p);
    return true;
  }

  size_t size_ = 0;
  uint8_t* write_ = nullptr;
  uint8_t* run_ = nullptr;
  size_t filled_ = 0;
  size_t spans_ = 0;
};

}  // namespace

struct ExecutableMemory::State {
  mutable std::mutex mutex;
  std::vector<std::unique_ptr<Block>> blocks;
  size_t used = 0;
};

ExecutableMemory::ExecutableMemory() : state_(std::make_unique<State>()) {}
ExecutableMemory::~ExecutableMemory() = default;

Result<ExecutableSpan> ExecutableMemory::add(std::span<const uint8_t> code) {
  if (code.empty()) return ExecutableSpan{};
  const std::lock_guard lock(state_->mutex);
  const size_t bytes = round_up(code.size(), kGranule);
  // Earlier blocks are full, or were when a larger piece came.
  if (!state_->blocks.empty()) {
    if (const uint8_t* at = state_->blocks.back()->add(code)) {
      state_->used += bytes;
      return ExecutableSpan{at, code.size()};
    }
  }
  auto made = Block::make(round_up(std::max(bytes, kBlock), kBlock));
  if (!made) return made.failure();
  state_->blocks.push_back(*std::move(made));
  state_->used += bytes;
  return ExecutableSpan{state_->blocks.back()->add(code), code.size()};
}

void ExecutableMemory::release(const ExecutableSpan& span) {
  if (!span.data) return;
  const std::lock_guard lock(state_->mutex);
  auto& blocks = state_->blocks;
  const auto it = std::find_if(blocks.begin(), blocks.end(),
                               [&](const auto& block) { return block->holds(span.data); });
  if (it == blocks.end()) return;
  state_->used -= round_up(span.size, kGranule);
  const bool empty = (*it)->release(span);
  if (empty && (blocks.size() > 1 || !(*it)->restart())) blocks.erase(it);
}

size_t ExecutableMemory::used() const {
  const std::lock_guard lock(state_->mutex);
  return state_->used;
}

}  // namespace hone::jit
