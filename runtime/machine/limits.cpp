// SPDX-License-Identifier: Apache-2.0
#include "runtime/machine/limits.h"

#include <immintrin.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "runtime/machine/gpu_limits.h"

namespace hone::runtime {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kChains = 12;  // independent multiply-adds in flight: enough for 2 ports of latency 6
constexpr int kRounds = 1 << 15;
constexpr int kTries = 12;

// The chains are written out so that nothing but the multiply-adds is in the loop.
#define HONE_CHAINS(clear, fma, reg) \
  int rounds = kRounds;              \
  __asm__ volatile(                                                                       \
      HONE_EACH(clear, reg) "1:\n" HONE_EACH(fma, reg) "decl %0\n"                        \
                                                        "jnz 1b\n"                        \
      : "+r"(rounds)                                                                      \
      :                                                                                   \
      : "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9",   \
        "xmm10", "xmm11", "xmm12", "cc")
#define HONE_EACH(op, reg)                                                                \
  op(reg, 0) op(reg, 1) op(reg, 2) op(reg, 3) op(reg, 4) op(reg, 5) op(reg, 6) op(reg, 7) \
      op(reg, 8) op(reg, 9) op(reg, 10) op(reg, 11)
#define HONE_CLEAR(reg, n) "vxorps %%xmm" #n ", %%xmm" #n ", %%xmm" #n "\n"
#define HONE_FMA_F32(reg, n) "vfmadd231ps %%" reg #n ", %%" reg #n ", %%" reg #n "\n"
#define HONE_FMA_F64(reg, n) "vfmadd231pd %%" reg #n ", %%" reg #n ", %%" reg #n "\n"

void chains_512_f32() { HONE_CHAINS(HONE_CLEAR, HONE_FMA_F32, "zmm"); }
void chains_512_f64() { HONE_CHAINS(HONE_CLEAR, HONE_FMA_F64, "zmm"); }
void chains_256_f32() { HONE_CHAINS(HONE_CLEAR, HONE_FMA_F32, "ymm"); }
void chains_256_f64() { HONE_CHAINS(HONE_CLEAR, HONE_FMA_F64, "ymm"); }

// Dot products add to registers 0 to 11 whatever is in the last two.
#define HONE_DOT(reg, n, op) op " %%" reg "13, %%" reg "14, %%" reg #n "\n"
#define HONE_BYTES(reg, n) HONE_DOT(reg, n, "vpdpbusd")
#define HONE_WORDS(reg, n) HONE_DOT(reg, n, "vpdpwssd")
#define HONE_VEX_BYTES(reg, n) HONE_DOT(reg, n, "%{vex%} vpdpbusd")
#define HONE_VEX_WORDS(reg, n) HONE_DOT(reg, n, "%{vex%} vpdpwssd")
// Of long latency: twice as many chains, the others in registers from 16 on.
#define HONE_BF16_PAIR(reg, n) \
  HONE_DOT(reg, n, "vdpbf16ps") "vdpbf16ps %%" reg "13, %%" reg "14, %%" reg HONE_HIGH_##n "\n"
#define HONE_HIGH_0 "16"
#define HONE_HIGH_1 "17"
#define HONE_HIGH_2 "18"
#define HONE_HIGH_3 "19"
#define HONE_HIGH_4 "20"
#define HONE_HIGH_5 "21"
#define HONE_HIGH_6 "22"
#define HONE_HIGH_7 "23"
#define HONE_HIGH_8 "24"
#define HONE_HIGH_9 "25"
#define HONE_HIGH_10 "26"
#define HONE_HIGH_11 "27"
#define HONE_MADD(reg, n)                     \
  "vpmaddwd %%" reg "13, %%" reg "14, %%" reg \
  "12\n"                                      \
  "vpaddd %%" reg "12, %%" reg #n ", %%" reg #n "\n"

void bytes_512() { HONE_CHAINS(HONE_CLEAR, HONE_BYTES, "zmm"); }
void words_512() { HONE_CHAINS(HONE_CLEAR, HONE_WORDS, "zmm"); }
void bytes_256() { HONE_CHAINS(HONE_CLEAR, HONE_VEX_BYTES, "ymm"); }
void words_256() { HONE_CHAINS(HONE_CLEAR, HONE_VEX_WORDS, "ymm"); }
void bf16_512() { HONE_CHAINS(HONE_CLEAR, HONE_BF16_PAIR, "zmm"); }
void madd_512() { HONE_CHAINS(HONE_CLEAR, HONE_MADD, "zmm"); }
void madd_256() { HONE_CHAINS(HONE_CLEAR, HONE_MADD, "ymm"); }

#undef HONE_DOT
#undef HONE_BYTES
#undef HONE_WORDS
#undef HONE_VEX_BYTES
#undef HONE_VEX_WORDS
#undef HONE_BF16_PAIR
#undef HONE_MADD

/// The chains of a dot product instruction, by the width of vectors.
struct DotChains {
  std::string_view family;  ///< what the instruction's name starts with
  int group;
  void (*wide)();
  void (*narrow)();
  int count;  ///< instructions in a round
};
constexpr DotChains kDotChains[] = {
    {"vnni", 4, bytes_512, bytes_256, kChains},
    {"vnni", 2, words_512, words_256, kChains},
    {"bf16", 2, bf16_512, bf16_512, 2 * kChains},
    {"madd", 2, madd_512, madd_256, kChains},
};

#undef HONE_CHAINS
#undef HONE_EACH
#undef HONE_CLEAR
#undef HONE_FMA_F32
#undef HONE_FMA_F64

/// One pass over memory, `bytes` a multiple of 512.
using Pass = void (*)(const char* from, char* to, int64_t bytes);

__attribute__((target("avx512f"))) void read_512(const char* from, char*, int64_t bytes) {
  for (int64_t i = 0; i < bytes; i += 512) {
#pragma GCC unroll 8
    for (int64_t k = 0; k < 512; k += 64) {
      __m512i v = _mm512_load_si512(from + i + k);
      __asm__ volatile("" : : "v"(v));
    }
  }
}

__attribute__((target("avx512f"))) void copy_512(const char* from, char* to, int64_t bytes) {
  for (int64_t i = 0; i < bytes; i += 512) {
#pragma GCC unroll 8
    for (int64_t k = 0; k < 512; k += 64) {
      _mm512_store_si512(to + i + k, _mm512_load_si512(from + i + k));
    }
    __asm__ volatile("" : : : "memory");
  }
}

__attribute__((target("avx512f"))) void stream_512(const char* from, char* to, int64_t bytes) {
  for (int64_t i = 0; i < bytes; i += 512) {
#pragma GCC unroll 8
    for (int64_t k = 0; k < 512; k += 64) {
      _mm512_stream_si512(reinterpret_cast<__m512i*>(to + i + k), _mm512_load_si512(from + i + k));
    }
  }
  _mm_sfence();
}

__attribute__((target("avx2"))) void read_256(const char* from, char*, int64_t bytes) {
  for (int64_t i = 0; i < bytes; i += 512) {
#pragma GCC unroll 16
    for (int64_t k = 0; k < 512; k += 32) {
      __m256i v = _mm256_load_si256(reinterpret_cast<const __m256i*>(from + i + k));
      __asm__ volatile("" : : "x"(v));
    }
  }
}

__attribute__((target("avx2"))) void copy_256(const char* from, char* to, int64_t bytes) {
  for (int64_t i = 0; i < bytes; i += 512) {
#pragma GCC unroll 16
    for (int64_t k = 0; k < 512; k += 32) {
      _mm256_store_si256(reinterpret_cast<__m256i*>(to + i + k),
                         _mm256_load_si256(reinterpret_cast<const __m256i*>(from + i + k)));
    }
    __asm__ volatile("" : : : "memory");
  }
}

__attribute__((target("avx2"))) void stream_256(const char* from, char* to, int64_t bytes) {
  for (int64_t i = 0; i < bytes; i += 512) {
#pragma GCC unroll 16
    for (int64_t k = 0; k < 512; k += 32) {
      _mm256_stream_si256(reinterpret_cast<__m256i*>(to + i + k),
                          _mm256_load_si256(reinterpret_cast<const __m256i*>(from + i + k)));
    }
  }
  _mm_sfence();
}

void chains_plain() {
  double r[4] = {0, 1, 2, 3};
  for (int n = 0; n < kRounds; ++n) {
    for (double& x : r) {
      x = x * 0.5 + 1.0;
      __asm__ volatile("" : "+x"(x));
    }
  }
}

void read_plain(const char* from, char*, int64_t bytes) {
  for (int64_t i = 0; i < bytes; i += 16) {
    __m128i v = _mm_load_si128(reinterpret_cast<const __m128i*>(from + i));
    __asm__ volatile("" : : "x"(v));
  }
}

void copy_plain(const char* from, char* to, int64_t bytes) {
  std::memcpy(to, from, static_cast<size_t>(bytes));
}

/// Runs `f(worker)` on every worker at once.
template <class F>
void on_all(ThreadPool* pool, int threads, F&& f) {
  if (!pool || threads <= 1) {
    f(0);
    return;
  }
  pool->parallel_for(
      threads,
      [](void* context, int64_t begin, int64_t end, int) {
        for (; begin < end; ++begin) (*static_cast<std::remove_reference_t<F>*>(context))(begin);
      },
      &f);
}

/// The shortest of several runs, in seconds.
template <class F>
double shortest(F&& f) {
  double best = 1e9;
  f();
  for (int i = 0; i < kTries; ++i) {
    const auto begin = Clock::now();
    f();
    best = std::min(best, std::chrono::duration<double>(Clock::now() - begin).count());
  }
  return best;
}

struct Free {
  void operator()(char* p) const { std::free(p); }
};
using Memory = std::unique_ptr<char, Free>;

Memory allocate(int64_t bytes) {
  Memory memory(static_cast<char*>(std::aligned_alloc(4096, static_cast<size_t>(bytes))));
  if (memory) std::memset(memory.get(), 1, static_cast<size_t>(bytes));
  return memory;
}

}  // namespace

double Limits::measure_gflops(bool doubles) {
  const int width = target_.vector_bytes();
  void (*chains)() = width == 64   ? (doubles ? chains_512_f64 : chains_512_f32)
                     : width == 32 ? (doubles ? chains_256_f64 : chains_256_f32)
                                   : chains_plain;
  const int count = width == 0 ? 4 : kChains;
  const int lanes = width == 0 ? 1 : width / (doubles ? 8 : 4);
  const double seconds =
      shortest([&] { on_all(pool_, target_.threads, [&](int64_t) { chains(); }); });
  return 2e-9 * count * lanes * kRounds * target_.threads / seconds;
}

double Limits::measure_gops(const ir::Instruction& row) {
  const int width = target_.vector_bytes();
  const std::string_view name = row.name;
  for (const DotChains& c : kDotChains) {
    if (!name.starts_with(c.family) || row.group != c.group) continue;
    const auto chains = width == 64 ? c.wide : c.narrow;
    const double seconds =
        shortest([&] { on_all(pool_, target_.threads, [&](int64_t) { chains(); }); });
    const double lanes = width / size_of(row.accumulate);
    return 2e-9 * c.count * lanes * row.group * kRounds * target_.threads / seconds;
  }
  return measure_gflops(false);
}

double Limits::measure_gbps(int64_t bytes, bool writes, bool stream) {
  const int width = target_.vector_bytes();
  const Pass pass = !writes       ? (width == 64   ? read_512
                                     : width == 32 ? read_256
                                                   : read_plain)
                    : width == 64 ? (stream ? stream_512 : copy_512)
                    : width == 32 ? (stream ? stream_256 : copy_256)
                                  : copy_plain;
  const int64_t threads = target_.threads;
  // Each thread has its part; a copy reads one half and writes the other.
  const int64_t part = std::max<int64_t>(bytes / threads / (writes ? 2 : 1) / 4096 * 4096, 4096);
  const Memory memory = allocate(part * threads * (writes ? 2 : 1));
  if (!memory) return 0;
  const int repeat = static_cast<int>(std::clamp<int64_t>((int64_t{4} << 20) / part, 1, 4096));
  const double seconds = shortest([&] {
    on_all(pool_, target_.threads, [&](int64_t t) {
      const char* from = memory.get() + t * part * (writes ? 2 : 1);
      char* to = memory.get() + t * part * 2 + part;
      for (int i = 0; i < repeat; ++i) pass(from, writes ? to : nullptr, part);
    });
  });
  return 1e-9 * static_cast<double>(part * (writes ? 2 : 1) * threads * repeat) / seconds;
}

/// Past half of the device's cache, the memory's speed counts.
double Limits::gpu_gbps(int64_t footprint) {
  const int64_t l2 = target_.l2 > 0 ? target_.l2 : int64_t{1} << 20;
  const bool cached = footprint <= l2 / 2;
  const auto [at, fresh] = gbps_.try_emplace({cached ? 1 : 2, true}, 0);
  if (fresh) {
    const auto large = std::min<int64_t>(int64_t{1} << 30, gpu_->facts().memory / 8);
    const auto measured = gpu_copy_gbps(*gpu_, cached ? l2 / 2 : large);
    at->second = measured ? *measured : 0;
  }
  return at->second;
}

double Limits::gflops(bool doubles) {
  if (gpu_) return gpu_gflops(target_, doubles);
  const auto [at, fresh] = gflops_.try_emplace(doubles, 0);
  if (fresh) at->second = measure_gflops(doubles);
  return at->second;
}

double Limits::gops(const ir::Instruction& row) {
  if (gpu_) return gpu_tensor_gflops(target_, row.a);
  const auto [at, fresh] = gops_.try_emplace(&row, 0);
  if (fresh) at->second = measure_gops(row);
  return at->second;
}

double Limits::gbps(int64_t footprint, bool writes) {
  if (gpu_) return gpu_gbps(footprint);
  const int64_t l1 = target_.l1d * target_.threads, l2 = target_.l2 * target_.threads;
  const int level = footprint <= l1 ? 1 : footprint <= l2 ? 2 : footprint <= target_.l3 ? 3 : 4;
  const auto [at, fresh] = gbps_.try_emplace({level, writes}, 0);
  if (!fresh) return at->second;
  const int64_t bytes = level == 1   ? l1 * 2 / 3
                        : level == 2 ? l2 / 2
                        : level == 3 ? std::min(target_.l3 / 2, std::max(l2 * 4, l1))
                                     : std::clamp<int64_t>(target_.l3 * 4, 64 << 20, 512 << 20);
  double best = measure_gbps(bytes, writes, false);
  // Past the caches, stores that go around them are the better way.
  if (writes && level == 4) best = std::max(best, measure_gbps(bytes, true, true));
  return at->second = best;
}

}  // namespace hone::runtime
