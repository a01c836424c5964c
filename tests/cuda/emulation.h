// SPDX-License-Identifier: Apache-2.0
// A GPU's thread block on the CPU: what generated kernels are compiled against to be run without a
// device. Included by them, not by the project. Threads are fibers; a barrier is a switch.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>
#include <string>
#include <type_traits>
#include <vector>

#include "tests/cuda/emulation_arena.h"
#include "tests/cuda/emulation_copies.h"
#include "tests/cuda/emulation_launch.h"
#include "tests/cuda/emulation_own.h"
#include "tests/cuda/emulation_tma.h"
#include "tests/cuda/emulation_warps.h"
#include "tests/cuda/emulation_wgmma.h"

#define HONE_EMULATION 1
#define HONE_PARAMETER
#define HONE_DEVICE static inline
#define HONE_GLOBAL(T, name, slot, elements) \
  const emulation::Global<T> name = emulation::global<T>((T*)(slot), (elements), #name)
#define HONE_TEAM(T, name, elements) \
  static const char name##_key = 0;  \
  emulation::Team<T>& name = emulation::team<T>(&name##_key, (elements), #name)
#define HONE_DYNAMIC(bytes)
#define HONE_TEAM_AT(T, name, elements, byte) \
  static const char name##_key = 0;           \
  emulation::Team<T>& name = emulation::team_at<T>(&name##_key, (elements), #name, (byte))
#define HONE_OWN(T, name, elements) emulation::Own<T> name((elements), #name)
#define HONE_WARP(T, name, elements) emulation::Held<T> name((elements), #name)
#define HONE_KERNEL(threads) static void
#define HONE_KERNEL_ALONE(threads) static void
#define HONE_CLUSTER_KERNEL(threads, x, y, z) static void
#define HONE_CLUSTER_KERNEL_ALONE(threads, x, y, z) static void
#define HONE_ADDRESS(place) nullptr
#define HONE_AT(name, ...) emulation::at(name, __VA_ARGS__)
#define HONE_WARP_AT(name, element) emulation::at(name, element)

namespace emulation {

/// Why a range of memory may not be touched, or "": set by who knows what is allocated.
inline std::string (*objection)(const void* bytes, size_t count) = nullptr;

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
      if (others())
        fail(std::string("an element of ") + name + " is read that another thread writes");
      return *at;
    }
    /// Several threads may store one value, as overlapping blocks do.
    const Ref& operator=(T v) const {
      record(Touch::kStore, name, index * static_cast<int64_t>(sizeof(T)), sizeof(T));
      if (others() && std::memcmp(at, &v, sizeof v) != 0) {
        fail(std::string("two threads write an element of ") + name + ", and not the same");
      }
      (*cluster->writers)[at] = thread_number();
      *at = v;
      return *this;
    }
    const Ref& operator=(const Ref& other) const { return *this = static_cast<T>(other); }
    bool others() const {
      const auto found = cluster->writers->find(at);
      return found != cluster->writers->end() && found->second != thread_number();
    }
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
  if (objection && elements > 0) {
    const std::string wrong = objection(data, static_cast<size_t>(elements) * sizeof(T));
    if (!wrong.empty()) fail(std::string(name) + ": " + wrong);
  }
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
    if (buffer->address(index) % size == 0) return;
    fail(std::string(buffer->name) + "[" + std::to_string(index) + "] is not at a multiple of " +
         std::to_string(size) + " bytes");
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

template <class T>
T shuffle_xor(T v, int mask) {
  Fiber& f = self();
  f.posted = 0;
  std::memcpy(&f.posted, &v, sizeof v);
  f.lane = static_cast<int>(block->current % 32) ^ mask;
  wait(Wait::kShuffle);
  std::memcpy(&v, &f.received, sizeof v);
  return v;
}

/// Rounds a double to a float so that rounding again is as rounding once: odd where inexact.
inline float odd_float(double d) {
  float f = static_cast<float>(d);
  if (f != f || static_cast<double>(f) == d) return f;
  if (std::fabs(static_cast<double>(f)) > std::fabs(d)) f = std::nextafterf(f, 0.0f);
  uint32_t bits;
  std::memcpy(&bits, &f, 4);
  bits |= 1;
  std::memcpy(&f, &bits, 4);
  return f;
}

inline float half_value(uint16_t h) {
  const int exponent = h >> 10 & 31, fraction = h & 1023;
  float f = exponent == 31 ? (fraction ? NAN : INFINITY)
            : exponent     ? std::ldexp(static_cast<float>(1024 + fraction), exponent - 25)
                           : std::ldexp(static_cast<float>(fraction), -24);
  return h >> 15 ? -f : f;
}

inline uint16_t half_of(double d) {
  const uint16_t sign = std::signbit(d) ? 0x8000 : 0;
  const double a = std::fabs(d);
  if (d != d) return 0x7fff;
  if (a >= 65520) return sign | 0x7c00;
  if (a < 6.103515625e-05) return sign | static_cast<uint16_t>(std::nearbyint(std::ldexp(a, 24)));
  int exponent = 0;
  std::frexp(a, &exponent);
  const auto significand = static_cast<int>(std::nearbyint(std::ldexp(a, 11 - exponent)));
  return sign | static_cast<uint16_t>(((exponent + 14) << 10) + significand - 1024);
}

}  // namespace emulation

#include "tests/cuda/emulation_tiles.h"

#define threadIdx emulation::thread_index()
#define blockIdx emulation::block->index
#define __syncthreads() emulation::block_barrier()
#define __shfl_xor_sync(mask, v, m) emulation::shuffle_xor(v, m)
