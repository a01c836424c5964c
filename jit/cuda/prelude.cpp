// SPDX-License-Identifier: Apache-2.0
#include "jit/cuda/intrinsics.h"
#include "jit/cuda/sm90_rows.h"
#include "jit/cuda/source.h"
#include "jit/ir/functions/function.h"

namespace hone::jit {
namespace {

/// Where the pieces of a kernel live, on the device.
constexpr const char* kDevice = R"(
#define HONE_DEVICE static __device__ __forceinline__
#define HONE_GLOBAL(T, name, slot, elements) T* __restrict__ const name = (T*)(slot)
#define HONE_TEAM(T, name, elements) __shared__ alignas(128) T name[elements]
#define HONE_DYNAMIC(bytes) extern __shared__ __align__(1024) unsigned char dynamic_shared[]
#define HONE_TEAM_AT(T, name, elements, byte) T* const name = (T*)(dynamic_shared + byte)
#define HONE_OWN(T, name, elements) T name[elements]
#define HONE_WARP(T, name, elements) Held<T, elements> name
#define HONE_KERNEL(threads) extern "C" __global__ void __launch_bounds__(threads)
#define HONE_KERNEL_BLOCKS(threads, blocks) \
  extern "C" __global__ void __launch_bounds__(threads, blocks)
#define HONE_KERNEL_ALONE(threads) extern "C" __global__ void __launch_bounds__(threads, 1)
#define HONE_CLUSTER_KERNEL(threads, x, y, z) \
  extern "C" __global__ void __cluster_dims__(x, y, z) __launch_bounds__(threads)
#define HONE_CLUSTER_KERNEL_ALONE(threads, x, y, z) \
  extern "C" __global__ void __cluster_dims__(x, y, z) __launch_bounds__(threads, 1)
#define HONE_PARAMETER __grid_constant__
#define HONE_ADDRESS(place) (&(place))
#define HONE_AT(name, ...) ((name) + (__VA_ARGS__))
#define HONE_WARP_AT(name, element) (name).at(element)
extern "C" __device__ float __nv_half2float(unsigned short);
template <int BYTES> struct Word;
template <> struct Word<2> { typedef unsigned short T; };
template <> struct Word<4> { typedef unsigned int T; };
template <> struct Word<8> { typedef uint2 T; };
template <> struct Word<16> { typedef uint4 T; };

// A lane's elements of tiles that a warp holds. Narrow ones share words of 32 bits.
template <class T, int N, bool narrow = (sizeof(T) < 4)> struct Held {
  T word[N];
  __device__ __forceinline__ T& operator[](int i) { return word[i]; }
  __device__ __forceinline__ T* at(int i) { return word + i; }
};
template <class T, int N> struct Held<T, N, true> {
  static constexpr int each = 4 / sizeof(T), bits = 8 * sizeof(T);
  static constexpr unsigned int mask = (1u << bits) - 1;
  struct Element {
    unsigned int& word;
    int shift;
    __device__ __forceinline__ operator T() const { return (T)((word >> shift) & mask); }
    __device__ __forceinline__ void operator=(T v) {
      word = (word & ~(mask << shift)) | (((unsigned int)v & mask) << shift);
    }
  };
  unsigned int word[N / each];
  __device__ __forceinline__ Element operator[](int i) {
    return Element{word[i / each], bits * (i % each)};
  }
  __device__ __forceinline__ unsigned int* at(int i) { return word + i / each; }
};
)";

/// What the intrinsics' signatures mention.
constexpr const char* kTypes = R"(
template <class E> struct Plain { typedef E T; };
template <class E> struct Plain<const E> { typedef E T; };
template <class E> struct Plain<E&> { typedef typename Plain<E>::T T; };
constexpr int alignment_of(int bytes) { return bytes % 16 ? bytes & -bytes : 16; }
template <class E, int N> struct alignas(alignment_of(sizeof(E) * N)) Vector {
  E v[N];
};
)";

/// The semantics of the language where C++ differs: integers wrap and never trap, NaN spreads.
constexpr const char* kCommon = R"(
typedef long long i64; typedef int i32; typedef short i16; typedef signed char i8;
typedef unsigned char u8; typedef unsigned char boolean;
typedef unsigned short f16; typedef unsigned short bf16;
typedef unsigned char f8e4m3; typedef unsigned char f8e5m2;
typedef unsigned long long u64; typedef unsigned int u32;

// Where an element is in memory whose rows of ROW bytes have their chunks of 16 bytes turned.
template <int ROW, int SIZE, class I> HONE_DEVICE I swizzled(I element) {
  constexpr I row = (ROW > 128 ? ROW : 128) / SIZE, chunk = 16 / SIZE;
  constexpr I chunks = (ROW < 128 ? ROW : 128) / 16;
  return element ^ (element / row % chunks * chunk);
}

HONE_DEVICE float f32_of_bf16(bf16 b) { return f32_of_bits((u32)b << 16); }
HONE_DEVICE bf16 bf16_of_f64(double d) { return bf16_of_f32(f32_of_f64_odd(d)); }
HONE_DEVICE float round_f16(float f) { return f32_of_f16(f16_of_f32(f)); }
HONE_DEVICE float round_f16(double d) { return f32_of_f16(f16_of_f64(d)); }
HONE_DEVICE float round_bf16(float f) { return f32_of_bf16(bf16_of_f32(f)); }
HONE_DEVICE float round_bf16(double d) { return f32_of_bf16(bf16_of_f64(d)); }

// 8-bit floats have exponents that f16 has; 0x7f of f8e4m3 is NaN.
HONE_DEVICE float f32_of_f8e5m2(f8e5m2 b) { return f32_of_f16((f16)((u32)b << 8)); }
HONE_DEVICE float f32_of_f8e4m3(f8e4m3 b) {
  const u32 magnitude = ((u32)b & 0x7f) << 7, nan = (magnitude + 0x80) & 0x4000;
  return 256.0f * f32_of_f16((f16)(magnitude | nan | ((u32)b & 0x80) << 8));
}
// The float's bits, rounded as integers; where the result is denormal, rounded by adding a float
// whose last bit is the least of the type.
template <int MANTISSA, int BIAS> HONE_DEVICE u8 f8_of_f32(float f, u32 most, u32 nan) {
  constexpr u32 away = 23 - MANTISSA, unit = (151 - BIAS - MANTISSA) << 23;
  const u32 bits = bits_of_f32(f), magnitude = bits & 0x7fffffffu, sign = (bits >> 24) & 0x80;
  const u32 sum = magnitude + (1u << (away - 1)) - 1 + (magnitude >> away & 1);
  const u32 normal = (sum >> away) - ((127 - BIAS) << MANTISSA);
  const u32 denormal = bits_of_f32(f32_of_bits(magnitude) + f32_of_bits(unit)) - unit;
  const u32 code = magnitude < ((128u - BIAS) << 23) ? denormal : normal < most ? normal : most;
  return (u8)(sign | (magnitude > 0x7f800000u ? nan : code));
}
HONE_DEVICE f8e4m3 f8e4m3_of_f32(float f) { return f8_of_f32<3, 7>(f, 0x7e, 0x7f); }
HONE_DEVICE f8e5m2 f8e5m2_of_f32(float f) { return f8_of_f32<2, 15>(f, 0x7c, 0x7e); }
HONE_DEVICE float round_f8e4m3(float f) { return f32_of_f8e4m3(f8e4m3_of_f32(f)); }
HONE_DEVICE float round_f8e4m3(double d) { return round_f8e4m3(f32_of_f64_odd(d)); }
HONE_DEVICE float round_f8e5m2(float f) { return f32_of_f8e5m2(f8e5m2_of_f32(f)); }
HONE_DEVICE float round_f8e5m2(double d) { return round_f8e5m2(f32_of_f64_odd(d)); }

template <class T> HONE_DEVICE T add(T a, T b) { return (T)((u64)a + (u64)b); }
template <class T> HONE_DEVICE T sub(T a, T b) { return (T)((u64)a - (u64)b); }
template <class T> HONE_DEVICE T mul(T a, T b) { return (T)((u64)a * (u64)b); }
HONE_DEVICE i32 add(i32 a, i32 b) { return (i32)((u32)a + (u32)b); }
HONE_DEVICE i32 sub(i32 a, i32 b) { return (i32)((u32)a - (u32)b); }
HONE_DEVICE i32 mul(i32 a, i32 b) { return (i32)((u32)a * (u32)b); }
template <class T> HONE_DEVICE T floor_div(T a, T b) {
  if (b == 0) return 0;
  if ((T)-1 < 0 && b == (T)-1) return sub((T)0, a);
  const T q = a / b;
  return (T)(q - (a % b != 0 && (a < 0) != (b < 0)));
}
template <class T> HONE_DEVICE T floor_mod(T a, T b) {
  return b == 0 ? (T)0 : sub(a, mul(b, floor_div(a, b)));
}
template <class T> HONE_DEVICE T shift_left(T a, T n) {
  return n >= 0 && n < (T)(8 * sizeof(T)) ? (T)((u64)a << n) : (T)0;
}
HONE_DEVICE i32 shift_left(i32 a, i32 n) { return (u32)n < 32 ? (i32)((u32)a << n) : 0; }
template <class T> HONE_DEVICE T shift_right(T a, T n) {
  const T last = (T)(8 * sizeof(T) - 1);
  return (T)(a >> (n >= 0 && n < last ? n : last));
}
template <class T> HONE_DEVICE T min_of(T a, T b) { return a < b || a != a ? a : b; }
template <class T> HONE_DEVICE T max_of(T a, T b) { return a > b || a != a ? a : b; }
template <class T> HONE_DEVICE T abs_of(T a) { return a < 0 ? sub((T)0, a) : a; }
HONE_DEVICE float abs_of(float a) { return fabsf(a); }
HONE_DEVICE double abs_of(double a) { return fabs(a); }

// What another lane of the warp holds; all lanes ask.
template <class T> HONE_DEVICE T from_lane(T v, int lane) {
  return __shfl_sync(0xffffffffu, v, lane);
}

// Float to integer truncates and saturates; NaN is 0. `top` is the first value past the type.
template <class T, class F> HONE_DEVICE T to_int(F x, F top, F low, T most, T least) {
  if (x != x) return 0;
  return x >= top ? most : x <= low ? least : (T)x;
}
template <class F> HONE_DEVICE i64 to_i64(F x) {
  return to_int<i64, F>(x, (F)9223372036854775808.0, (F)-9223372036854775808.0,
                        9223372036854775807ll, -9223372036854775807ll - 1);
}
template <class F> HONE_DEVICE i32 to_i32(F x) {
  return to_int<i32, F>(x, (F)2147483648.0, (F)-2147483648.0, 2147483647, -2147483647 - 1);
}
template <class F> HONE_DEVICE i16 to_i16(F x) {
  return to_int<i16, F>(x, (F)32767, (F)-32768, 32767, -32768);
}
template <class F> HONE_DEVICE i8 to_i8(F x) { return to_int<i8, F>(x, (F)127, (F)-128, 127, -128); }
template <class F> HONE_DEVICE u8 to_u8(F x) { return to_int<u8, F>(x, (F)255, (F)0, 255, 0); }

template <class F> HONE_DEVICE bool is_low(F x) { return x == -(F)f32_of_bits(0x7f800000); }

// How a reduction combines.
struct Sum { template <class T> HONE_DEVICE T of(T a, T b) { return add(a, b); }
             HONE_DEVICE float of(float a, float b) { return a + b; }
             HONE_DEVICE double of(double a, double b) { return a + b; } };
struct Prod { template <class T> HONE_DEVICE T of(T a, T b) { return mul(a, b); }
              HONE_DEVICE float of(float a, float b) { return a * b; }
              HONE_DEVICE double of(double a, double b) { return a * b; } };
struct Max { template <class T> HONE_DEVICE T of(T a, T b) { return max_of(a, b); } };
struct Min { template <class T> HONE_DEVICE T of(T a, T b) { return min_of(a, b); } };
struct Any { template <class T> HONE_DEVICE T of(T a, T b) { return (T)(a != 0 || b != 0); } };
struct All { template <class T> HONE_DEVICE T of(T a, T b) { return (T)(a != 0 && b != 0); } };

// Of four words that each of four neighbouring lanes has, one of each: what lane l has at i comes to
// lane i at l. All lanes of a warp call it together.
template <class T> HONE_DEVICE Vector<T, 8> turned_in_quads(const Vector<T, 2>* words) {
  u32 w[4];
  #pragma unroll
  for (int i = 0; i < 4; ++i) w[i] = (u32)words[i].v[0] | (u32)words[i].v[1] << 16;
  #pragma unroll
  for (int apart = 1; apart < 4; apart *= 2) {
    const bool upper = (threadIdx.x & apart) != 0;
    #pragma unroll
    for (int i = 0; i < 4; ++i) {
      if ((i & apart) != 0) continue;
      const u32 other = __shfl_xor_sync(0xffffffffu, upper ? w[i] : w[i | apart], apart);
      if (upper) w[i] = other; else w[i | apart] = other;
    }
  }
  Vector<T, 8> out;
  #pragma unroll
  for (int i = 0; i < 4; ++i) {
    out.v[2 * i] = (T)w[i];
    out.v[2 * i + 1] = (T)(w[i] >> 16);
  }
  return out;
}

// Every thread's value of `v` combined along one axis of a block of X * Y * Z threads; all threads
// of the block call it together and get the same of those along the axis.
template <class Op, int AXIS, int X, int Y, int Z, class T> HONE_DEVICE T combine_threads(T v) {
  constexpr int extent = AXIS == 0 ? X : AXIS == 1 ? Y : Z;
  constexpr int stride = AXIS == 0 ? 1 : AXIS == 1 ? X : X * Y;
  if constexpr (AXIS == 0 && X <= 32 && (X & (X - 1)) == 0) {
    for (int m = 1; m < X; m *= 2) v = Op::of(v, (T)__shfl_xor_sync(0xffffffffu, v, m));
    return v;
  } else if constexpr (AXIS == 0 && X % 32 == 0) {
    HONE_TEAM(T, parts, X * Y * Z / 32);
    for (int m = 1; m < 32; m *= 2) v = Op::of(v, (T)__shfl_xor_sync(0xffffffffu, v, m));
    const int warp = ((int)threadIdx.z * Y + (int)threadIdx.y) * (X / 32) + (int)threadIdx.x / 32;
    const int first = warp - (int)threadIdx.x / 32;
    __syncthreads();
    if (threadIdx.x % 32 == 0) parts[warp] = v;
    __syncthreads();
    v = parts[first];
    for (int w = 1; w < X / 32; ++w) v = Op::of(v, (T)parts[first + w]);
    return v;
  } else {
    HONE_TEAM(T, parts, X * Y * Z);
    const int own = ((int)threadIdx.z * Y + (int)threadIdx.y) * X + (int)threadIdx.x;
    const int at = AXIS == 0 ? (int)threadIdx.x : AXIS == 1 ? (int)threadIdx.y : (int)threadIdx.z;
    __syncthreads();
    parts[own] = v;
    __syncthreads();
    v = parts[own - at * stride];
    for (int i = 1; i < extent; ++i) v = Op::of(v, (T)parts[own + (i - at) * stride]);
    return v;
  }
}
)";

std::string with(const char* Intrinsic::*body) {
  std::string out;
  for (const Intrinsic& row : intrinsics()) {
    if (*row.templates) out += std::string(row.templates) + " ";
    out += std::string("HONE_DEVICE ") + row.signature + " { " + row.*body + " }\n";
  }
  return out;
}

/// `float fn_NAME(float x)` and its like of doubles, of all scalar functions.
std::string scalar_functions() {
  std::string declared, defined;
  for (const ir::Function& f : ir::functions()) {
    for (const bool single : {true, false}) {
      const std::string type = single ? "float" : "double";
      const std::string head = "HONE_DEVICE " + type + " fn_" + f.name + "(" + type + " x" +
                               (f.arity == 2 ? ", " + type + " y" : "") + ")";
      declared += head + ";\n";
      defined +=
          head + " { typedef " + type + " F; " + (single ? f.device.f32 : f.device.f64) + " }\n";
    }
  }
  return declared + defined;
}

}  // namespace

std::string cuda_prelude() {
  return std::string(kDevice) + kTypes + with(&Intrinsic::device) + kCommon + scalar_functions();
}

std::string cuda_prelude_on_host() {
  return kTypes + with(&Intrinsic::host) + kCommon + scalar_functions() + sm90_rows_on_host();
}

}  // namespace hone::jit
