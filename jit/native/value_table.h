// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <vector>

#include "jit/native/lir.h"

namespace hone::jit {

/// An instruction by its value: its number and the values that are its sources.
struct ValueKey {
  std::array<uint64_t, 8> words{};
  bool operator==(const ValueKey&) const = default;
  uint64_t hash() const;
};

/// Bytes in memory, from a base and an index by their value numbers.
struct Extent {
  uint64_t base = 0, index = 0;
  int64_t begin = 0, bytes = 0;  ///< no bytes: not known where

  /// Whether both are known to have no byte in common.
  bool apart_from(const Extent& other) const;
};

/// Value numbering: the value number of each register, and a table from instructions to the
/// registers with their results.
class ValueTable {
 public:
  ValueTable();

  /// Adds the next register, with a value of its own.
  void add_register() { numbers_.push_back(++last_number_); }
  /// Tells that the register holds another value than before.
  void renumber(Reg reg) { numbers_[reg.id] = ++last_number_; }
  /// Tells that it holds the value of `other`.
  void renumber(Reg reg, Reg other) { numbers_[reg.id] = numbers_[other.id]; }

  ValueKey key_of(Opcode op, int width, const std::initializer_list<Operand>& sources, Reg mask,
                  bool zeroing, Reg start) const;
  /// A register that holds the value, or an invalid one.
  Reg find(const ValueKey& key, uint64_t hash) const;
  /// Tells that `reg` holds the value; returns the entry's number.
  int32_t enter(const ValueKey& key, uint64_t hash, Reg reg);
  Reg register_of(int32_t entry) const { return entries_[entry].reg; }
  void forget(int32_t entry) { entries_[entry].number = -1; }

  /// The bytes at an address; as long as nothing else is known of them, none.
  Extent extent_of(const Operand& address, int64_t bytes) const;
  /// Tells that the entry was loaded from `buffer`.
  void loaded(int32_t entry, int buffer, const Extent& from);
  /// Forgets what was loaded from buffers of these bits, see buffer_bit.
  void forget_loads(uint64_t buffers);
  /// Forgets what was loaded from `buffer`, unless it lies apart from what is stored.
  void forget_loads_at(int buffer, const Extent& stored);
  /// The bit of a buffer; the last one is shared by all that have none of their own.
  static uint64_t buffer_bit(int buffer) {
    return uint64_t{1} << (buffer < kOwnBits ? buffer : kOwnBits);
  }
  static constexpr int kOwnBits = 63;  ///< Fixed by: the bits of a word, less the shared one.
  /// Buffers that something was loaded from lie below.
  size_t loaded_buffers() const { return loads_.size(); }

 private:
  struct Entry {
    ValueKey key;
    Reg reg;
    int32_t number = -1;  ///< value number of reg when entered; -1: forgotten
    int32_t next = -1;
  };
  void grow();

  std::vector<int32_t> numbers_;  ///< per register
  int32_t last_number_ = 0;
  std::vector<Entry> entries_;
  std::vector<int32_t> buckets_;
  struct Load {
    int32_t entry = -1;
    Extent from;
  };
  std::vector<std::vector<Load>> loads_;  ///< by buffer
};

}  // namespace hone::jit
