// SPDX-License-Identifier: Apache-2.0
// Global memory, and accesses to several elements of any memory at once.
#pragma once

#include <cstring>
#include <type_traits>

#include "tests/cuda/emulation_arena.h"
#include "tests/cuda/emulation_record.h"

namespace emulation {

/// Why a range of memory may not be touched, or "": set by who knows what is allocated.
inline std::string (*objection)(const void* bytes, size_t count) = nullptr;

/// Fails where the memory of an array may not be touched.
void check_allowed(const void* data, size_t bytes, const char* name);
/// Fails where another thread of the launch writes the element that is read.
void check_read(const void* at, const char* name);
/// The thread that runs writes the element. Another may have, where the value stays the same.
void take(const void* at, bool same, const char* name);

/// Fails where another thread of the launch writes what something beside the threads reads.
void check_unwritten(const void* at, size_t count, size_t element);
/// A store of something beside the threads; it belongs to the thread that started it.
void claim(const void* at, size_t count, size_t element);

[[noreturn]] void fail_unaligned(const char* name, int64_t index, int64_t size);

/// Memory of the device. An element that a launch writes belongs to the thread that does.
template <class T>
struct Global {
  using Element = std::remove_const_t<T>;
  T* data;
  int64_t elements;
  const char* name;

  struct Ref {
    T* at;
    const char* name;
    int64_t index;
    operator T() const {
      record(Touch::kLoad, name, index * static_cast<int64_t>(sizeof(T)), sizeof(T));
      check_read(at, name);
      return *at;
    }
    /// Several threads may store one value, as overlapping blocks do.
    const Ref& operator=(T v) const {
      record(Touch::kStore, name, index * static_cast<int64_t>(sizeof(T)), sizeof(T));
      take(at, std::memcmp(at, &v, sizeof v) == 0, name);
      *at = v;
      return *this;
    }
    const Ref& operator=(const Ref& other) const { return *this = static_cast<T>(other); }
  };

  int64_t address(int64_t i) const { return reinterpret_cast<int64_t>(data + i); }
  decltype(auto) operator[](int64_t i) const {
    check(i, elements, name);
    if constexpr (std::is_const_v<T>) {
      record(Touch::kLoad, name, i * static_cast<int64_t>(sizeof(T)), sizeof(T));
      return static_cast<T&>(data[i]);
    } else {
      return Ref{data + i, name, i};
    }
  }
};

template <class T>
Global<T> global(T* data, int64_t elements, const char* name) {
  check_allowed(data, static_cast<size_t>(elements) * sizeof(T), name);
  return {data, elements, name};
}

/// An element of a buffer as the beginning of an access to several.
template <class B>
struct Place {
  using Element = typename B::Element;
  B* buffer;
  int64_t index;
  /// An access of `size` bytes must begin at a multiple of it.
  void check_aligned(int64_t size) const {
    if (buffer->address(index) % size != 0) fail_unaligned(buffer->name, index, size);
  }
};
template <class B>
Place<B> at(B& buffer, int64_t index) {
  return {&buffer, index};
}

/// Counts the accesses of `width` elements each that a vector is.
template <class P>
void record_vector(bool store, int count, int width, P place) {
  using B = std::remove_pointer_t<decltype(place.buffer)>;
  constexpr auto kSize = static_cast<int64_t>(sizeof(typename P::Element));
  constexpr bool kShared = requires(B & b) { b.arena; };
  for (int64_t i = place.index; i < place.index + count; i += width) {
    if constexpr (kShared) {
      record(store ? Touch::kSharedStore : Touch::kSharedLoad, place.buffer->name,
             place.buffer->address(i), static_cast<int>(width * kSize));
    } else {
      record(store ? Touch::kStore : Touch::kLoad, place.buffer->name, i * kSize,
             static_cast<int>(width * kSize));
    }
  }
}

template <class E, class P>
void load_vector(E* out, int count, int width, P from) {
  from.check_aligned(width * static_cast<int64_t>(sizeof(E)));
  record_vector(false, count, width, from);
  const Quiet quiet;
  for (int i = 0; i < count; ++i) out[i] = (*from.buffer)[from.index + i];
}
template <class E, class P>
void store_vector(const E* values, int count, int width, P to) {
  to.check_aligned(width * static_cast<int64_t>(sizeof(E)));
  record_vector(true, count, width, to);
  const Quiet quiet;
  for (int i = 0; i < count; ++i) (*to.buffer)[to.index + i] = values[i];
}

}  // namespace emulation
