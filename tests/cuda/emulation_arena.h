// SPDX-License-Identifier: Apache-2.0
// Shared memory: who may touch which of its bytes when, and the arrays that kernels see of it.
#pragma once

#include "tests/cuda/emulation_block.h"
#include "tests/cuda/emulation_record.h"

namespace emulation {

/// A byte of shared memory as messages name it: `tile[7]`.
std::string place_of(const Arena& arena, uint32_t at);

/// An access to shared memory: by a thread itself, or by something that it started.
struct Access {
  Epoch epoch;         ///< of who makes it
  const Knowledge& k;  ///< of the thread that makes or starts it
  Arena& arena;

  void inside(uint32_t at, uint32_t n) const;
  void read(uint32_t at, uint32_t n) const;
  void write(uint32_t at, uint32_t n, bool same = false) const;

 private:
  bool plain() const { return epoch.agent == k.agent; }
  const std::string& name() const { return cluster->order.name(epoch.agent); }
  [[noreturn]] void complain(uint32_t at, const std::string& what) const;
  /// What was written there last must come before this access.
  void after_write(uint32_t at, const Arena::Mark& m, const char* verb) const;
  void after_reads(uint32_t at, const Arena::Mark& m) const;
  void read_mark(uint32_t at, Arena::Mark& m) const;
  void write_mark(uint32_t at, Arena::Mark& m, bool same) const;
  /// Bytes next to each other mostly have one history.
  template <class F>
  void each(uint32_t at, uint32_t n, F step) const;
};

/// Reads and writes bytes of shared memory by the thread that runs.
void read_shared(Arena& arena, uint32_t at, void* to, uint32_t n);
void write_shared(Arena& arena, uint32_t at, const void* from, uint32_t n);

/// An array in shared memory.
template <class T>
struct SharedArray {
  using Element = T;
  struct Ref {
    SharedArray* array;
    uint32_t at;
    operator T() const {
      record(Touch::kSharedLoad, array->name, at, sizeof(T));
      T v;
      read_shared(*array->arena, at, &v, sizeof v);
      return v;
    }
    const Ref& operator=(T v) const {
      record(Touch::kSharedStore, array->name, at, sizeof(T));
      write_shared(*array->arena, at, &v, sizeof v);
      return *this;
    }
    const Ref& operator=(const Ref& other) const { return *this = static_cast<T>(other); }
  };
  /// In shared memory, as an instruction takes it.
  int64_t address(int64_t i) const { return offset + i * static_cast<int64_t>(sizeof(T)); }
  Ref operator[](int64_t i) {
    check(i, elements, name);
    return {this, static_cast<uint32_t>(address(i))};
  }
  Arena* arena;
  uint32_t offset;
  int64_t elements;
  const char* name;
};

/// Where the block has the array that a declaration is: after all others, aligned to what any
/// access wants. It is made where it is asked for first.
uint32_t place_shared(const void* key, int64_t elements, uint32_t element, const char* name);
/// At `byte` of the shared memory that the launch asked for, apart from all others.
uint32_t place_shared_at(const void* key, int64_t elements, uint32_t element, const char* name,
                         int64_t byte);

template <class T>
SharedArray<T> shared_array(const void* key, int64_t elements, const char* name) {
  return {&block->arena, place_shared(key, elements, sizeof(T), name), elements, name};
}
template <class T>
SharedArray<T> shared_array_at(const void* key, int64_t elements, const char* name, int64_t byte) {
  return {&block->arena, place_shared_at(key, elements, sizeof(T), name, byte), elements, name};
}

}  // namespace emulation
