// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>

namespace hone::jit {

// clang-format off
/// The interface that scalar functions are written against. One method is one instruction on a
/// whole vector of the float type F (float or double), and returns a fresh value. `V` is a handle
/// of a vector, `M` of a mask; both are cheap to copy and never written again. The code generator's
/// builder appends to LIR; the tests' builders compute. A handle may also stand for several vectors,
/// and a method for one instruction on each. The functions are long dependence chains, and chains
/// side by side keep the units busier.
///
///   constant(d), constant_bits(u)   a pooled constant, rounded to F, or given as bits
///   add sub mul div (a, b)          IEEE, rounding as MXCSR says; sqrt(a) too
///   fma fnma fms (a, b, c)          a*b+c, -(a*b)+c, a*b-c, rounded once
///   min max (a, b)                  the x86 ones: b when either is NaN or both are zero
///   round floor trunc ceil (a)      to an integral value, as floats
///   and_ or_ xor_ andnot (a, b)     bitwise; andnot is ~a & b
///   shl shr (a, n)                  logical shifts of integers as wide as F
///   iadd isub (a, b)                integers as wide as F
///   copysign(a, b)                  magnitude of a, sign of b: one vpternlog, or three logic ones
///   lt le gt ge eq neq unord (a, b) ordered, but for neq and unord
///   nlt(a, b)                       not less: true of NaN
///   select(m, a, b)                 m ? a : b
///   where(m, a)                     m ? a : 0
///   both either (m, k)              and, or of masks
///   lookup16(table, i)              table[low four bits of i]: shuffles, or a gather on AVX2
///   slow_path(m, v, make)           select(m, make(), v); may jump over make() where m has no lane
///   has_avx512()                    whether the next five may be called
///   scalef(a, n)                    a * 2^floor(n): gradual, saturating, special values as vscalef
///   scalef_where(m, a, n)           the same where m, else 0: in lanes left out no denormal is made
///   getexp(a)                       floor(log2 |a|) as a float; -inf for 0
///   getmant(a)                      a scaled by 2^e into [0.75, 1.5); 1 for 0 and inf, NaN below 0
///   fraction(a)                     a - floor(a), rounded down; 0 for infinities (vreduce)
// clang-format on
template <class B>
concept MathBuilder = requires(B b, typename B::V v, typename B::M m,
                               std::array<double, 16> table) {
  { b.constant(1.0) } -> std::same_as<typename B::V>;
  { b.constant_bits(uint64_t{1}) } -> std::same_as<typename B::V>;
  { b.add(v, v) } -> std::same_as<typename B::V>;
  { b.fma(v, v, v) } -> std::same_as<typename B::V>;
  { b.fnma(v, v, v) } -> std::same_as<typename B::V>;
  { b.fms(v, v, v) } -> std::same_as<typename B::V>;
  { b.shl(v, 1) } -> std::same_as<typename B::V>;
  { b.copysign(v, v) } -> std::same_as<typename B::V>;
  { b.lt(v, v) } -> std::same_as<typename B::M>;
  { b.nlt(v, v) } -> std::same_as<typename B::M>;
  { b.select(m, v, v) } -> std::same_as<typename B::V>;
  { b.where(m, v) } -> std::same_as<typename B::V>;
  { b.both(m, m) } -> std::same_as<typename B::M>;
  { b.lookup16(table, v) } -> std::same_as<typename B::V>;
  { b.has_avx512() } -> std::same_as<bool>;
};

/// The binary format of F: float or double.
template <class F>
struct Format;

template <>
struct Format<float> {
  static constexpr int kMantissa = 23;  ///< explicit bits
  static constexpr int kBias = 127;
  static constexpr uint64_t kSign = 0x80000000u;
  static constexpr uint64_t kOne = 0x3f800000u;
  static constexpr double kLargest = 0x1.fffffep127;
  static constexpr double kSmallestNormal = 0x1p-126;
};

template <>
struct Format<double> {
  static constexpr int kMantissa = 52;
  static constexpr int kBias = 1023;
  static constexpr uint64_t kSign = uint64_t{1} << 63;
  static constexpr uint64_t kOne = uint64_t{0x3ff} << 52;
  static constexpr double kLargest = 0x1.fffffffffffffp1023;
  static constexpr double kSmallestNormal = 0x1p-1022;
};

/// 1.5 * 2^kMantissa: adding it rounds to an integer, which then sits in the low bits. Those bits
/// shifted left by kMantissa lose everything but that integer.
template <class F>
constexpr double kMagic = 1.5 * static_cast<double>(uint64_t{1} << Format<F>::kMantissa);

/// Horner's scheme on c[0] + c[1]*x + c[2]*x^2 + ..., using only every `step`th power, from `last`
/// down. It takes one fma a coefficient but the first; `power` is x^step.
template <class B>
typename B::V horner(B& b, std::span<const double> c, size_t last, size_t step,
                     typename B::V power) {
  typename B::V p = b.constant(c[last]);
  for (size_t i = last; i >= step; i -= step) p = b.fma(p, power, b.constant(c[i - step]));
  return p;
}

/// The same of all powers.
template <class B>
typename B::V horner(B& b, std::span<const double> c, typename B::V x) {
  return horner(b, c, c.size() - 1, 1, x);
}

/// A polynomial whose even and odd powers do not cancel. Long ones, which only f64 has, are two
/// sums of the one and the other: one multiplication more, half the latency.
template <class B>
typename B::V polynomial(B& b, std::span<const double> c, typename B::V x) {
  constexpr size_t kLong = 10;
  if (c.size() < kLong) return horner(b, c, x);
  const auto square = b.mul(x, x);
  const size_t last = c.size() - 1;
  const auto even = horner(b, c, last - last % 2, 2, square);
  const auto odd = horner(b, c, last - (last + 1) % 2, 2, square);
  return b.fma(odd, x, even);
}

/// x limited to [low, high]; NaN stays NaN.
template <class B>
typename B::V clamp(B& b, typename B::V x, double low, double high) {
  return b.min(b.constant(high), b.max(b.constant(low), x));
}

/// |x|.
template <class F, class B>
typename B::V magnitude(B& b, typename B::V x) {
  return b.and_(x, b.constant_bits(Format<F>::kSign - 1));
}

/// A rounded integer n, as the float itself and as the low bits of `bits` (plus a bias given where
/// it was made).
template <class V>
struct Rounded {
  V bits;
  V n;
};

/// n = x * factor to the nearest integer, with n + bias in the low bits. |x * factor| < 2^21
/// (2^50).
template <class F, class B>
Rounded<typename B::V> round_product(B& b, typename B::V x, double factor, double bias) {
  const auto magic = b.constant(kMagic<F> + bias);
  const auto bits = b.fma(x, b.constant(factor), magic);
  return {bits, b.sub(bits, magic)};
}

}  // namespace hone::jit
