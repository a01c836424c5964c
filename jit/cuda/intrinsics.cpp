// SPDX-License-Identifier: Apache-2.0
#include "jit/cuda/intrinsics.h"

namespace hone::jit {
namespace {

// Narrow floats are kept as their bits and computed with in f32. PTX ISA, instruction cvt.
constexpr Intrinsic kRows[] = {
    {"float f32_of_f16(unsigned short h)",
     R"(float f; asm("cvt.f32.f16 %0, %1;" : "=f"(f) : "h"(h)); return f;)",
     "return emulation::f32_of_f16(h);"},
    {"unsigned short f16_of_f32(float f)",
     R"(unsigned short h; asm("cvt.rn.f16.f32 %0, %1;" : "=h"(h) : "f"(f)); return h;)",
     "return emulation::f16_of_f32(f);"},
    {"unsigned short f16_of_f64(double d)",
     R"(unsigned short h; asm("cvt.rn.f16.f64 %0, %1;" : "=h"(h) : "d"(d)); return h;)",
     "return emulation::f16_of_f64(d);"},
    {"float f32_of_bits(unsigned int u)", "return __int_as_float((int)u);",
     "float f; __builtin_memcpy(&f, &u, 4); return f;"},
    {"unsigned int bits_of_f32(float f)", "return (unsigned int)__float_as_int(f);",
     "unsigned int u; __builtin_memcpy(&u, &f, 4); return u;"},
    // Rounds to odd: what is cut off shows in the last bit, so that rounding again is right.
    {"float f32_of_f64_odd(double d)",
     R"(float f = __double2float_rz(d);
  return (double)f == d || f != f ? f : __int_as_float(__float_as_int(f) | 1);)",
     "return emulation::f32_of_f64_odd(d);"},
    {"void lowest(long long* word, long long value)", "atomicMin(word, value);",
     "if (value < *word) *word = value;"},
    {"void prefetch(const void* line)",
     R"(asm volatile("prefetch.global.L2 [%0];" : : "l"(line));)", "(void)line;"},
    // N neighbours, W in each access. The address is a multiple of what an access takes.
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
};

}  // namespace

std::span<const Intrinsic> intrinsics() { return kRows; }

}  // namespace hone::jit
