// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>

namespace hone::tests {

/// Memory of a device. Addresses that callers see can be touched by nobody; the bytes lie as far
/// behind as `shift()` says, where kernels and copies find them. Each allocation ends at a page
/// that is not there, and no address is given twice.
class Memory {
 public:
  struct Block {
    size_t bytes = 0;
    bool live = true;
  };

  Memory();
  ~Memory();
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;

  /// A block of `bytes`, aligned to 256, filled with what no program expects; 0 when the address
  /// space or the machine has no more.
  uint64_t allocate(size_t bytes);
  /// Takes a block back; what is wrong, or "".
  std::string release(uint64_t address);
  /// Bytes of all live blocks.
  size_t live_bytes() const { return live_bytes_; }
  size_t live_blocks() const { return live_blocks_; }

  /// Whether an address is one of this device, allocated or not.
  bool owns(uint64_t address) const { return address >= begin_ && address < end_; }
  /// The live block around an address: its start and size, or false.
  bool find(uint64_t address, uint64_t* start, size_t* bytes) const;
  /// Why a range is not inside one live block, or "".
  std::string objection(uint64_t address, size_t bytes) const;
  /// From an address to its bytes.
  int64_t shift() const { return shift_; }
  void* bytes_at(uint64_t address) const {
    return reinterpret_cast<void*>(address + static_cast<uint64_t>(shift_));
  }

 private:
  std::map<uint64_t, Block>::const_iterator around(uint64_t address) const;

  mutable std::mutex mutex_;
  uint64_t begin_ = 0, end_ = 0, next_ = 0;
  int64_t shift_ = 0;
  std::map<uint64_t, Block> blocks_;
  size_t live_bytes_ = 0, live_blocks_ = 0;
};

}  // namespace hone::tests
