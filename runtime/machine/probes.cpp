// SPDX-License-Identifier: Apache-2.0
#include "runtime/machine/probes.h"

#include <immintrin.h>

#include <array>
#include <string_view>

namespace hone::runtime {
namespace {

/// Chosen: chains that fill two ports of latency 6; rounds long beside a clock's steps (not
/// measured).
constexpr int kChains = 12;  // independent multiply-adds in flight: enough for 2 ports of latency 6
constexpr int kMixed = 16;   // instructions of a round that mixes them with additions
constexpr int kRounds = 1 << 15;

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

// Multiply-adds in registers 0 to 7 and additions in the others: ports that only add run beside.
#define HONE_MIX(clear, fma, add, reg) \
  int rounds = kRounds;                \
  __asm__ volatile(                                                                             \
      HONE_MIX_EACH(clear, clear, reg) "1:\n" HONE_MIX_EACH(fma, add, reg) "decl %0\n"          \
                                                                            "jnz 1b\n"          \
      : "+r"(rounds)                                                                            \
      :                                                                                         \
      : "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9",         \
        "xmm10", "xmm11", "xmm12", "xmm13", "xmm14", "xmm15", "cc")
#define HONE_MIX_EACH(fma, add, reg)                                                          \
  fma(reg, 0) add(reg, 8) fma(reg, 1) add(reg, 9) fma(reg, 2) add(reg, 10) fma(reg, 3)        \
      add(reg, 11) fma(reg, 4) add(reg, 12) fma(reg, 5) add(reg, 13) fma(reg, 6) add(reg, 14) \
          fma(reg, 7) add(reg, 15)
#define HONE_ADD_F32(reg, n) "vaddps %%" reg #n ", %%" reg #n ", %%" reg #n "\n"
#define HONE_ADD_F64(reg, n) "vaddpd %%" reg #n ", %%" reg #n ", %%" reg #n "\n"

void mix_512_f32() { HONE_MIX(HONE_CLEAR, HONE_FMA_F32, HONE_ADD_F32, "zmm"); }
void mix_512_f64() { HONE_MIX(HONE_CLEAR, HONE_FMA_F64, HONE_ADD_F64, "zmm"); }
void mix_256_f32() { HONE_MIX(HONE_CLEAR, HONE_FMA_F32, HONE_ADD_F32, "ymm"); }
void mix_256_f64() { HONE_MIX(HONE_CLEAR, HONE_FMA_F64, HONE_ADD_F64, "ymm"); }

#undef HONE_MIX
#undef HONE_MIX_EACH
#undef HONE_ADD_F32
#undef HONE_ADD_F64

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

void chains_plain() {
  double r[4] = {0, 1, 2, 3};
  for (int n = 0; n < kRounds; ++n) {
    for (double& x : r) {
      x = x * 0.5 + 1.0;
      __asm__ volatile("" : "+x"(x));
    }
  }
}

/// What memory is filled with: on some processors lines of zeros reach it at twice the speed.
alignas(64) constexpr std::array<uint8_t, 64> kOnes = [] {
  std::array<uint8_t, 64> ones{};
  ones.fill(1);
  return ones;
}();

// One register, renamed each time: nothing waits for anything but the memory. A group is 256 bytes.
#define HONE_GROUP(moves, step, body) \
  ".set hone_at, 0\n.rept " #moves "\n" body ".set hone_at, hone_at + " #step "\n.endr\n"

#define HONE_MOVES(Name, moves, step, load, store, stream, reg, clobber)                           \
  struct Name {                                                                                    \
    static void read(const char* a) {                                                              \
      __asm__ volatile(HONE_GROUP(moves, step, load " hone_at(%0), " reg "\n")                     \
                       :                                                                           \
                       : "r"(a)                                                                    \
                       : clobber, "memory");                                                       \
    }                                                                                              \
    static void fill(char* to) {                                                                   \
      __asm__ volatile(load " %1, " reg                                                            \
                            "\n" HONE_GROUP(moves, step, store " " reg ", hone_at(%0)\n")          \
                       :                                                                           \
                       : "r"(to), "m"(kOnes)                                                       \
                       : clobber, "memory");                                                       \
    }                                                                                              \
    static void fill_around(char* to) {                                                            \
      __asm__ volatile(load " %1, " reg                                                            \
                            "\n" HONE_GROUP(moves, step, stream " " reg ", hone_at(%0)\n")         \
                       :                                                                           \
                       : "r"(to), "m"(kOnes)                                                       \
                       : clobber, "memory");                                                       \
    }                                                                                              \
    static void copy(const char* a, char* to) {                                                    \
      __asm__ volatile(                                                                            \
          HONE_GROUP(moves, step, load " hone_at(%0), " reg "\n" store " " reg ", hone_at(%1)\n")  \
          :                                                                                        \
          : "r"(a), "r"(to)                                                                        \
          : clobber, "memory");                                                                    \
    }                                                                                              \
    static void copy_around(const char* a, char* to) {                                             \
      __asm__ volatile(                                                                            \
          HONE_GROUP(moves, step, load " hone_at(%0), " reg "\n" stream " " reg ", hone_at(%1)\n") \
          :                                                                                        \
          : "r"(a), "r"(to)                                                                        \
          : clobber, "memory");                                                                    \
    }                                                                                              \
  }

HONE_MOVES(Zmm, 4, 64, "vmovaps", "vmovaps", "vmovntps", "%%zmm0", "xmm0");
HONE_MOVES(Ymm, 8, 32, "vmovaps", "vmovaps", "vmovntps", "%%ymm0", "xmm0");
HONE_MOVES(Xmm, 16, 16, "movaps", "movaps", "movntps", "%%xmm0", "xmm0");

#undef HONE_MOVES
#undef HONE_GROUP

/// Fixed by: the moves of a group above.
constexpr int64_t kGroup = 256;

/// Reads, or updates, `streams` runs of memory side by side: prefetchers and banks serve some
/// numbers better.
template <class Moves, int streams>
void read_memory(char* memory, int64_t bytes) {
  const int64_t run = bytes / streams;
  for (int64_t i = 0; i < run; i += kGroup) {
    for (int s = 0; s < streams; ++s) Moves::read(memory + s * run + i);
  }
}

template <class Moves, bool around>
void fill_memory(char* memory, int64_t bytes) {
  for (int64_t i = 0; i < bytes; i += kGroup) {
    around ? Moves::fill_around(memory + i) : Moves::fill(memory + i);
  }
  if (around) _mm_sfence();
}

template <class Moves, bool around>
void copy_memory(char* memory, int64_t bytes) {
  const int64_t run = bytes / 2;
  for (int64_t i = 0; i < run; i += kGroup) {
    around ? Moves::copy_around(memory + i, memory + run + i)
           : Moves::copy(memory + i, memory + run + i);
  }
  if (around) _mm_sfence();
}

template <class Moves, bool around>
void triad_memory(char* memory, int64_t bytes) {
  const int64_t run = bytes / 3;
  for (int64_t i = 0; i < run; i += kGroup) {
    Moves::read(memory + run + i);
    around ? Moves::copy_around(memory + i, memory + 2 * run + i)
           : Moves::copy(memory + i, memory + 2 * run + i);
  }
  if (around) _mm_sfence();
}

template <class Moves, int streams>
void update_memory(char* memory, int64_t bytes) {
  const int64_t run = bytes / streams;
  for (int64_t i = 0; i < run; i += kGroup) {
    for (int s = 0; s < streams; ++s) Moves::copy(memory + s * run + i, memory + s * run + i);
  }
}

template <class Moves>
constexpr MemoryProbe kMemoryProbes[] = {
    {Traffic::kRead, false, read_memory<Moves, 1>},
    {Traffic::kRead, false, read_memory<Moves, 2>},
    {Traffic::kRead, false, read_memory<Moves, 4>},
    {Traffic::kTriad, false, triad_memory<Moves, false>},
    {Traffic::kTriad, true, triad_memory<Moves, true>},
    {Traffic::kCopy, false, copy_memory<Moves, false>},
    {Traffic::kCopy, true, copy_memory<Moves, true>},
    {Traffic::kFill, false, fill_memory<Moves, false>},
    {Traffic::kFill, true, fill_memory<Moves, true>},
    {Traffic::kUpdate, false, update_memory<Moves, 1>},
    {Traffic::kUpdate, false, update_memory<Moves, 2>},
    {Traffic::kUpdate, false, update_memory<Moves, 4>},
    {},
};

}  // namespace

ArithmeticProbe multiply_adds(int width, bool doubles) {
  if (width == 0) return {chains_plain, 2.0 * 4 * kRounds};
  const double each = 2.0 * kChains * kRounds * (width / (doubles ? 8 : 4));
  if (width == 64) return {doubles ? chains_512_f64 : chains_512_f32, each};
  return {doubles ? chains_256_f64 : chains_256_f32, each};
}

ArithmeticProbe mixed_arithmetic(int width, bool doubles) {
  if (width == 0) return multiply_adds(width, doubles);
  const double each = 2.0 * kMixed * kRounds * (width / (doubles ? 8 : 4));
  if (width == 64) return {doubles ? mix_512_f64 : mix_512_f32, each};
  return {doubles ? mix_256_f64 : mix_256_f32, each};
}

ArithmeticProbe dot_products(int width, const ir::Instruction& row) {
  const std::string_view name = row.name;
  for (const DotChains& c : kDotChains) {
    if (!name.starts_with(c.family) || row.group != c.group) continue;
    const double lanes = width / size_of(row.accumulate);
    return {width == 64 ? c.wide : c.narrow, 2.0 * c.count * lanes * row.group * kRounds};
  }
  return multiply_adds(width, false);
}

const MemoryProbe* memory_probes(int width) {
  return width == 64 ? kMemoryProbes<Zmm> : width == 32 ? kMemoryProbes<Ymm> : kMemoryProbes<Xmm>;
}

}  // namespace hone::runtime
