// SPDX-License-Identifier: Apache-2.0
#include "jit/cuda/intrinsics.h"

namespace hone::jit {
namespace {

// Narrow floats are kept as their bits and computed with in f32. PTX ISA, instruction cvt.
constexpr Intrinsic kRows[] = {
    // The compiler's own function: loops around assembly are not unrolled where data say how long
    // they are.
    {"float f32_of_f16(unsigned short h)", "return __nv_half2float(h);",
     "return emulation::half_value(h);"},
    {"unsigned short f16_of_f32(float f)",
     R"(unsigned short h; asm("cvt.rn.f16.f32 %0, %1;" : "=h"(h) : "f"(f)); return h;)",
     "return emulation::half_of(f);"},
    {"unsigned short f16_of_f64(double d)",
     R"(unsigned short h; asm("cvt.rn.f16.f64 %0, %1;" : "=h"(h) : "d"(d)); return h;)",
     "return emulation::half_of(d);"},
    {"float f32_of_bits(unsigned int u)", "return __int_as_float((int)u);",
     "float f; __builtin_memcpy(&f, &u, 4); return f;"},
    {"unsigned int bits_of_f32(float f)", "return (unsigned int)__float_as_int(f);",
     "unsigned int u; __builtin_memcpy(&u, &f, 4); return u;"},
    {"unsigned short bf16_of_f32(float f)",
     R"(
#if __CUDA_ARCH__ >= 800
  unsigned int h; asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(h) : "f"(0.0f), "f"(f)); return h;
#else
  const unsigned int u = bits_of_f32(f);
  return f != f ? 0x7fc0 : (unsigned short)((u + 0x7fff + ((u >> 16) & 1)) >> 16);
#endif
)",
     R"(const unsigned int u = bits_of_f32(f);
  return f != f ? 0x7fc0 : (unsigned short)((u + 0x7fff + ((u >> 16) & 1)) >> 16);)"},
    // The greater and the lesser; NaN spreads. PTX ISA, instruction max; sm_80.
    {"float max_of(float a, float b)",
     R"(
#if __CUDA_ARCH__ >= 800
  float m; asm("max.NaN.f32 %0, %1, %2;" : "=f"(m) : "f"(a), "f"(b)); return m;
#else
  return a > b || a != a ? a : b;
#endif
)",
     "return a > b || a != a ? a : b;"},
    {"float min_of(float a, float b)",
     R"(
#if __CUDA_ARCH__ >= 800
  float m; asm("min.NaN.f32 %0, %1, %2;" : "=f"(m) : "f"(a), "f"(b)); return m;
#else
  return a < b || a != a ? a : b;
#endif
)",
     "return a < b || a != a ? a : b;"},
    // x / (1 + 2^w). Of both approximations the error is 2^-22 of 2^w, of the quotient 2^-23.
    {"float gate(float x, float w)",
     R"(float e, r;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(e) : "f"(w));
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(1.0f + e));
  return x * r;)",
     "return x / (1.0f + exp2f(w));"},
    // The error is 2^-22 of the result. PTX ISA, instruction ex2.
    {"float power_of_two(float x)",
     R"(float e; asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(e) : "f"(x)); return e;)",
     "return exp2f(x);"},
    // Rounds to odd: what is cut off shows in the last bit, so that rounding again is right.
    {"float f32_of_f64_odd(double d)",
     R"(float f = __double2float_rz(d);
  return (double)f == d || f != f ? f : __int_as_float(__float_as_int(f) | 1);)",
     "return emulation::odd_float(d);"},
    {"void lowest(long long* word, long long value)", "atomicMin(word, value);",
     "if (value < *word) *word = value;"},
    {"void prefetch(const void* line)",
     R"(asm volatile("prefetch.global.L2 [%0];" : : "l"(line));)", "(void)line;"},
    // N neighbours, W in each access. The address is a multiple of what an access takes.
    // BYTES, 4, 8 or 16, from memory to shared memory, at the latest when their group is waited
    // for. What is not kept is 0 and not read. PTX ISA, instruction cp.async; sm_80.
    {"void copy_async(P to, Q from, int kept = BYTES)",
     R"(const unsigned int at = (unsigned int)__cvta_generic_to_shared(to);
  const unsigned long long source = (unsigned long long)__cvta_generic_to_global(from);
  if constexpr (BYTES == 16) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" : : "r"(at), "l"(source), "r"(kept));
  } else {
    asm volatile("cp.async.ca.shared.global [%0], [%1], %2, %3;"
                 : : "r"(at), "l"(source), "n"(BYTES), "r"(kept));
  })",
     "emulation::copy_async(to, from, BYTES, kept);", "template <int BYTES, class P, class Q>"},
    {"void commit_copies()", R"(asm volatile("cp.async.commit_group;" : : : "memory");)",
     "emulation::commit_copies();"},
    {"void wait_copies()", R"(asm volatile("cp.async.wait_group %0;" : : "n"(N) : "memory");)",
     "emulation::wait_copies(N);", "template <int N>"},
    {"auto load_vector(P from)",
     R"(Vector<typename Plain<decltype(*from)>::T, N> out;
  typedef typename Word<W * sizeof(*from)>::T Access;
  #pragma unroll
  for (int i = 0; i < N; i += W) *(Access*)(out.v + i) = *(const Access*)(from + i);
  return out;)",
     R"(Vector<typename P::Element, N> out;
  emulation::load_vector(out.v, N, W, from);
  return out;)",
     "template <int N, int W, class P>"},
    {"void store_vector(P to, const Vector<E, N>& values)",
     R"(typedef typename Word<W * sizeof(*to)>::T Access;
  #pragma unroll
  for (int i = 0; i < N; i += W) *(Access*)(to + i) = *(const Access*)(values.v + i);)",
     "emulation::store_vector(values.v, N, W, to);", "template <int W, class P, class E, int N>"},
    // To global memory. The compiler takes stores apart where it is free to, and does not always
    // put them together again. ALONE: the launch touches the elements in no other way, so that
    // loads may pass.
    {"void store_global(P to, const Vector<E, N>& values)",
     R"(typedef typename Word<W * sizeof(*to)>::T Access;
  #pragma unroll
  for (int i = 0; i < N; i += W) {
    const Access w = *(const Access*)(values.v + i);
    const unsigned long long at = (unsigned long long)__cvta_generic_to_global(to + i);
    if constexpr (sizeof(Access) == 16 && ALONE) {
      asm volatile("st.global.v4.b32 [%0], {%1, %2, %3, %4};"
                   : : "l"(at), "r"(w.x), "r"(w.y), "r"(w.z), "r"(w.w));
    } else if constexpr (sizeof(Access) == 16) {
      asm volatile("st.global.v4.b32 [%0], {%1, %2, %3, %4};"
                   : : "l"(at), "r"(w.x), "r"(w.y), "r"(w.z), "r"(w.w) : "memory");
    } else if constexpr (sizeof(Access) == 8 && ALONE) {
      asm volatile("st.global.v2.b32 [%0], {%1, %2};" : : "l"(at), "r"(w.x), "r"(w.y));
    } else if constexpr (sizeof(Access) == 8) {
      asm volatile("st.global.v2.b32 [%0], {%1, %2};" : : "l"(at), "r"(w.x), "r"(w.y) : "memory");
    } else {
      *(Access*)(to + i) = w;
    }
  })",
     "emulation::store_vector(values.v, N, W, to);",
     "template <int W, bool ALONE, class P, class E, int N>"},
    // N matrices of 8 rows of 16 bytes in shared memory: lane 8*i + l gives where row l of matrix i
    // is. It takes of each its word of row lane / 4, or of a TURNED one of column lane / 4. PTX
    // ISA, ldmatrix.
    {"void load_matrices(unsigned int* to, P from)",
     R"(const unsigned int at = (unsigned int)__cvta_generic_to_shared(from);
  if constexpr (N == 1) {
    if constexpr (TURNED)
      asm volatile("ldmatrix.sync.aligned.m8n8.x1.trans.shared.b16 {%0}, [%1];"
                 : "=r"(to[0]) : "r"(at) : "memory");
    else
      asm volatile("ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%0}, [%1];"
                 : "=r"(to[0]) : "r"(at) : "memory");
  } else if constexpr (N == 2) {
    if constexpr (TURNED)
      asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0, %1}, [%2];"
                 : "=r"(to[0]), "=r"(to[1]) : "r"(at) : "memory");
    else
      asm volatile("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0, %1}, [%2];"
                 : "=r"(to[0]), "=r"(to[1]) : "r"(at) : "memory");
  } else {
    if constexpr (TURNED)
      asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3]) : "r"(at) : "memory");
    else
      asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3]) : "r"(at) : "memory");
  })",
     "emulation::read_matrices<N, TURNED>(to, from);", "template <int N, bool TURNED, class P>"},
    // Tiles: each lane has its registers of them, in the order of tile_axes(). PTX ISA, mma.sync.
    {"void mma_f16(float* c, const unsigned int* a, const unsigned int* b)",
     R"(asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
      : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));)",
     "emulation::mma<emulation::HalfTiles>(c, a, b);"},
    {"void mma_bf16(float* c, const unsigned int* a, const unsigned int* b)",
     R"(asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
      : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));)",
     "emulation::mma<emulation::BrainTiles>(c, a, b);"},
    {"void mma_i8i8(int* c, const unsigned int* a, const unsigned int* b)",
     R"(asm volatile("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
      : "+r"(c[0]), "+r"(c[1]), "+r"(c[2]), "+r"(c[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));)",
     "emulation::mma<emulation::ByteTiles<int8_t, int8_t>>(c, a, b);"},
    {"void mma_u8u8(int* c, const unsigned int* a, const unsigned int* b)",
     R"(asm volatile("mma.sync.aligned.m16n8k32.row.col.s32.u8.u8.s32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
      : "+r"(c[0]), "+r"(c[1]), "+r"(c[2]), "+r"(c[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));)",
     "emulation::mma<emulation::ByteTiles<uint8_t, uint8_t>>(c, a, b);"},
    {"void mma_u8i8(int* c, const unsigned int* a, const unsigned int* b)",
     R"(asm volatile("mma.sync.aligned.m16n8k32.row.col.s32.u8.s8.s32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
      : "+r"(c[0]), "+r"(c[1]), "+r"(c[2]), "+r"(c[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));)",
     "emulation::mma<emulation::ByteTiles<uint8_t, int8_t>>(c, a, b);"},
    {"void mma_i8u8(int* c, const unsigned int* a, const unsigned int* b)",
     R"(asm volatile("mma.sync.aligned.m16n8k32.row.col.s32.s8.u8.s32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
      : "+r"(c[0]), "+r"(c[1]), "+r"(c[2]), "+r"(c[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));)",
     "emulation::mma<emulation::ByteTiles<int8_t, uint8_t>>(c, a, b);"},
    {"void mma_f64(double* c, const double* a, const double* b)",
     R"(asm volatile("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0, %1}, {%2}, {%3}, {%0, %1};"
      : "+d"(c[0]), "+d"(c[1])
      : "d"(a[0]), "d"(b[0]));)",
     "emulation::mma<emulation::DoubleTiles>(c, a, b);"},
    {"void mma_tf32(float* c, const float* a, const float* b)",
     R"(unsigned int r[6];
  for (int i = 0; i < 4; ++i) asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(r[i]) : "f"(a[i]));
  for (int i = 0; i < 2; ++i) asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(r[4 + i]) : "f"(b[i]));
  asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
      : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
      : "r"(r[0]), "r"(r[1]), "r"(r[2]), "r"(r[3]), "r"(r[4]), "r"(r[5]));)",
     "emulation::mma<emulation::ShortTiles>(c, a, b);"},
};

}  // namespace

std::span<const Intrinsic> intrinsics() { return kRows; }

}  // namespace hone::jit
