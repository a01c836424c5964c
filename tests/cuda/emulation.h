// SPDX-License-Identifier: Apache-2.0
// A GPU's thread block on the CPU: what generated kernels are compiled against to be run without a
// device. Included by them, not by the project. Threads are fibers; a barrier is a switch.
#pragma once

#include <ucontext.h>

#include <cmath>
#include <cstdint>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <type_traits>
#include <unordered_map>
#include <vector>

#define HONE_DEVICE static inline
#define HONE_GLOBAL(T, name, slot, elements) \
  const emulation::Global<T> name = emulation::global<T>((T*)(slot), (elements), #name)
#define HONE_TEAM(T, name, elements) \
  static const char name##_key = 0;  \
  emulation::Team<T>& name = emulation::team<T>(&name##_key, (elements), #name)
#define HONE_OWN(T, name, elements) emulation::Own<T> name((elements), #name)
#define HONE_KERNEL(threads) static void
#define HONE_ADDRESS(place) nullptr
#define HONE_AT(name, element) emulation::at(name, element)

namespace emulation {

struct Dim3 {
  unsigned x = 0, y = 0, z = 0;
};

/// What a kernel did that it must not.
struct Fault {
  std::string text;
};

enum class Wait { kNothing, kBarrier, kShuffle, kDone };

struct Fiber {
  ucontext_t context;
  std::unique_ptr<char[]> stack;
  Dim3 index;
  Wait wait = Wait::kNothing;
  uint64_t posted = 0, received = 0;  ///< what a shuffle exchanges
  int lane = 0;                       ///< that it asks
};

/// The block that runs.
struct Block {
  std::vector<Fiber> fibers;
  size_t current = 0;
  Dim3 extent, index;
  int interval = 0;  ///< barriers passed
  std::map<const void*, std::shared_ptr<void>> teams;
  std::function<void()> kernel;
  ucontext_t scheduler;
  std::string fault;
  std::unordered_map<const void*, uint64_t>* writers =
      nullptr;  ///< of global elements, in this launch
};

inline Block* block = nullptr;

inline Dim3 thread_index() { return block->fibers[block->current].index; }
inline uint64_t thread_number() {
  return ((static_cast<uint64_t>(block->index.z) << 20 | block->index.y) << 20 | block->index.x)
             << 12 |
         block->current;
}

[[noreturn]] inline void fail(std::string text) {
  const Dim3 t = thread_index(), b = block->index;
  throw Fault{text + " (thread " + std::to_string(t.x) + "," + std::to_string(t.y) + "," +
              std::to_string(t.z) + " of block " + std::to_string(b.x) + "," + std::to_string(b.y) +
              "," + std::to_string(b.z) + ")"};
}

inline void check(int64_t i, int64_t n, const char* name) {
  if (i < 0 || i >= n) {
    fail(std::string(name) + "[" + std::to_string(i) + "] is outside its " + std::to_string(n) +
         " elements");
  }
}

/// Why a range of memory may not be touched, or "": set by who knows what is allocated.
inline std::string (*objection)(const void* bytes, size_t count) = nullptr;

inline void wait(Wait what) {
  Fiber& f = block->fibers[block->current];
  f.wait = what;
  swapcontext(&f.context, &block->scheduler);
}

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
    operator T() const {
      if (others())
        fail(std::string("an element of ") + name + " is read that another thread writes");
      return *at;
    }
    /// Several threads may store one value, as overlapping blocks do.
    const Ref& operator=(T v) const {
      if (others() && std::memcmp(at, &v, sizeof v) != 0) {
        fail(std::string("two threads write an element of ") + name + ", and not the same");
      }
      (*block->writers)[at] = thread_number();
      *at = v;
      return *this;
    }
    const Ref& operator=(const Ref& other) const { return *this = static_cast<T>(other); }
    bool others() const {
      const auto found = block->writers->find(at);
      return found != block->writers->end() && found->second != thread_number();
    }
  };

  int64_t address(int64_t i) const { return reinterpret_cast<int64_t>(data + i); }
  decltype(auto) operator[](int64_t i) const {
    check(i, elements, name);
    if constexpr (std::is_const_v<T>) {
      return static_cast<T&>(data[i]);
    } else {
      return Ref{data + i, name};
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

/// Registers of one thread; what was not written is NaN.
template <class T>
struct Own {
  Own(int64_t elements, const char* name) : values(static_cast<size_t>(elements)), name(name) {
    std::memset(values.data(), 0xff, values.size() * sizeof(T));
  }
  T& operator[](int64_t i) {
    check(i, static_cast<int64_t>(values.size()), name);
    return values[static_cast<size_t>(i)];
  }
  std::vector<T> values;
  const char* name;
};

/// Shared memory: remembers who touched each element since the last barrier.
template <class T>
struct Team {
  using Element = T;
  struct Mark {
    int written = -1, read = -1;  ///< intervals
    size_t writer = 0, reader = 0;
    bool many = false;  ///< several threads have read it in that interval
    bool defined = false;
  };
  struct Ref {
    Team* team;
    size_t at;
    operator T() const {
      Mark& m = team->marks[at];
      if (!m.defined) team->complain(at, "is read before anything is written there");
      if (m.written == block->interval && m.writer != block->current) {
        team->complain(at, "is read in the barrier interval in which another thread writes it");
      }
      m.many = m.read == block->interval && (m.many || m.reader != block->current);
      m.read = block->interval;
      m.reader = block->current;
      return team->values[at];
    }
    const Ref& operator=(T v) const {
      Mark& m = team->marks[at];
      const bool same = m.defined && std::memcmp(&team->values[at], &v, sizeof v) == 0;
      if (m.written == block->interval && m.writer != block->current && !same) {
        team->complain(at, "is written by two threads in one barrier interval");
      }
      if (m.read == block->interval && (m.many || m.reader != block->current)) {
        team->complain(at, "is written in the barrier interval in which another thread reads it");
      }
      m.written = block->interval;
      m.writer = block->current;
      m.defined = true;
      team->values[at] = v;
      return *this;
    }
    const Ref& operator=(const Ref& other) const { return *this = static_cast<T>(other); }
  };
  Team(int64_t elements, const char* name)
      : values(static_cast<size_t>(elements)), marks(values.size()), name(name) {}
  /// From the beginning, which is aligned to all accesses.
  int64_t address(int64_t i) const { return i * static_cast<int64_t>(sizeof(T)); }
  Ref operator[](int64_t i) {
    check(i, static_cast<int64_t>(values.size()), name);
    return {this, static_cast<size_t>(i)};
  }
  void complain(size_t at, const char* what) const {
    fail(std::string(name) + "[" + std::to_string(at) + "] " + what);
  }
  std::vector<T> values;
  std::vector<Mark> marks;
  const char* name;
};

template <class T>
Team<T>& team(const void* key, int64_t elements, const char* name) {
  std::shared_ptr<void>& slot = block->teams[key];
  if (!slot) slot = std::make_shared<Team<T>>(elements, name);
  return *static_cast<Team<T>*>(slot.get());
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

template <class E, class P>
void load_vector(E* out, int count, int width, P from) {
  from.check_aligned(width * static_cast<int64_t>(sizeof(E)));
  for (int i = 0; i < count; ++i) out[i] = (*from.buffer)[from.index + i];
}
template <class E, class P>
void store_vector(const E* values, int count, int width, P to) {
  to.check_aligned(width * static_cast<int64_t>(sizeof(E)));
  for (int i = 0; i < count; ++i) (*to.buffer)[to.index + i] = values[i];
}

inline void enter() {
  try {
    block->kernel();
  } catch (const Fault& f) {
    if (block->fault.empty()) block->fault = f.text;
  }
  block->fibers[block->current].wait = Wait::kDone;
  swapcontext(&block->fibers[block->current].context, &block->scheduler);
}

constexpr size_t kStack = 256 << 10;

inline void start(Fiber& f, std::vector<std::unique_ptr<char[]>>& stacks) {
  if (stacks.empty()) stacks.push_back(std::unique_ptr<char[]>(new char[kStack]));
  f.stack = std::move(stacks.back());
  stacks.pop_back();
  getcontext(&f.context);
  f.context.uc_stack.ss_sp = f.stack.get();
  f.context.uc_stack.ss_size = kStack;
  f.context.uc_link = nullptr;
  makecontext(&f.context, enter, 0);
}

/// Lets the warps go on whose threads all wait for a shuffle; true when there was one.
inline bool shuffle_warps(Block& b) {
  bool any = false;
  for (size_t first = 0; first < b.fibers.size(); first += 32) {
    const size_t end = std::min(first + 32, b.fibers.size());
    bool all = true;
    for (size_t t = first; t < end; ++t) all &= b.fibers[t].wait == Wait::kShuffle;
    if (!all) continue;
    any = true;
    for (size_t t = first; t < end; ++t) {
      const size_t from = first + static_cast<size_t>(b.fibers[t].lane);
      b.fibers[t].received = b.fibers[from < end ? from : t].posted;
    }
    for (size_t t = first; t < end; ++t) b.fibers[t].wait = Wait::kNothing;
  }
  return any;
}

inline void run_block(Block& b, std::vector<std::unique_ptr<char[]>>& stacks) {
  block = &b;
  for (Fiber& f : b.fibers) f.wait = Wait::kNothing;
  while (b.fault.empty()) {
    for (b.current = 0; b.current < b.fibers.size() && b.fault.empty(); ++b.current) {
      Fiber& f = b.fibers[b.current];
      if (f.wait != Wait::kNothing) continue;
      if (!f.stack) start(f, stacks);
      swapcontext(&b.scheduler, &f.context);
      if (f.wait == Wait::kDone) stacks.push_back(std::move(f.stack));
    }
    if (!b.fault.empty() || shuffle_warps(b)) continue;
    size_t waiting = 0, done = 0;
    for (const Fiber& f : b.fibers) {
      waiting += f.wait == Wait::kBarrier;
      done += f.wait == Wait::kDone;
    }
    if (done == b.fibers.size()) break;
    if (waiting != b.fibers.size()) {
      b.fault = "a barrier or shuffle is reached by " + std::to_string(b.fibers.size() - done) +
                " of " + std::to_string(b.fibers.size()) + " threads";
      break;
    }
    for (Fiber& f : b.fibers) f.wait = Wait::kNothing;
    ++b.interval;
  }
  block = nullptr;
}

/// Runs a kernel over a grid; what went wrong, or "".
inline std::string launch(Dim3 grid, Dim3 extent, const std::function<void()>& kernel) {
  std::unordered_map<const void*, uint64_t> writers;
  std::vector<std::unique_ptr<char[]>> stacks;
  for (unsigned z = 0; z < grid.z; ++z) {
    for (unsigned y = 0; y < grid.y; ++y) {
      for (unsigned x = 0; x < grid.x; ++x) {
        Block b;
        b.extent = extent;
        b.index = {x, y, z};
        b.kernel = kernel;
        b.writers = &writers;
        b.fibers.resize(static_cast<size_t>(extent.x) * extent.y * extent.z);
        for (size_t t = 0; t < b.fibers.size(); ++t) {
          const auto n = static_cast<unsigned>(t);
          b.fibers[t].index = {n % extent.x, n / extent.x % extent.y, n / extent.x / extent.y};
        }
        run_block(b, stacks);
        if (!b.fault.empty()) return b.fault;
      }
    }
  }
  return "";
}

template <class T>
T shuffle_xor(T v, int mask) {
  Fiber& f = block->fibers[block->current];
  f.posted = 0;
  std::memcpy(&f.posted, &v, sizeof v);
  f.lane = static_cast<int>(block->current % 32) ^ mask;
  wait(Wait::kShuffle);
  std::memcpy(&v, &f.received, sizeof v);
  return v;
}

/// Rounds a double to a float so that rounding again is as rounding once: odd where inexact.
inline float f32_of_f64_odd(double d) {
  float f = static_cast<float>(d);
  if (f != f || static_cast<double>(f) == d) return f;
  if (std::fabs(static_cast<double>(f)) > std::fabs(d)) f = std::nextafterf(f, 0.0f);
  uint32_t bits;
  std::memcpy(&bits, &f, 4);
  bits |= 1;
  std::memcpy(&f, &bits, 4);
  return f;
}

inline float f32_of_f16(uint16_t h) {
  const int exponent = h >> 10 & 31, fraction = h & 1023;
  float f = exponent == 31 ? (fraction ? NAN : INFINITY)
            : exponent     ? std::ldexp(static_cast<float>(1024 + fraction), exponent - 25)
                           : std::ldexp(static_cast<float>(fraction), -24);
  return h >> 15 ? -f : f;
}

inline uint16_t f16_of_f64(double d) {
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

inline uint16_t f16_of_f32(float f) { return f16_of_f64(f); }

}  // namespace emulation

#define threadIdx emulation::thread_index()
#define blockIdx emulation::block->index
#define __syncthreads() emulation::wait(emulation::Wait::kBarrier)
#define __shfl_xor_sync(mask, v, m) emulation::shuffle_xor(v, m)
