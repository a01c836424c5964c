// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <limits>
#include <type_traits>

#include "jit/x86/math/exact.h"
#include "jit/x86/math/exp.h"

namespace hone::jit {

/// x = m * 2^e with m in [0.75, 1.5).
template <class V>
struct Binary {
  V m;
  V e;
};

/// The parts of a positive x; zero, infinities, NaN and negative x give, on AVX-512, what makes a
/// logarithm right, and otherwise anything.
template <class F, class B>
Binary<typename B::V> split_binary(B& b, typename B::V x) {
  if (b.has_avx512()) {
    const auto m = b.getmant(x);
    return {m, b.sub(b.getexp(x), b.getexp(m))};
  }
  constexpr int kMantissa = Format<F>::kMantissa;
  constexpr uint64_t kThreeQuarters = Format<F>::kOne - (uint64_t{1} << (kMantissa - 1));
  constexpr uint64_t kFraction = (uint64_t{1} << kMantissa) - 1;
  const auto small = b.lt(x, b.constant(Format<F>::kSmallestNormal));
  x = b.select(small, b.mul(x, b.constant(static_cast<double>(kFraction + 1))), x);
  // With 1 - 0.75 added to the bits, the exponent steps at 0.75 instead of 1.
  const auto shifted = b.iadd(x, b.constant_bits(Format<F>::kOne - kThreeQuarters));
  const auto m =
      b.iadd(b.and_(shifted, b.constant_bits(kFraction)), b.constant_bits(kThreeQuarters));
  // The biased exponent ored into 2^kMantissa is a float that many above it.
  constexpr double kBase = static_cast<double>(kFraction + 1);
  const auto biased = b.or_(b.shr(shifted, kMantissa), b.constant(kBase));
  const auto bias = b.select(small, b.constant(kBase + Format<F>::kBias + kMantissa),
                             b.constant(kBase + Format<F>::kBias));
  return {m, b.sub(biased, bias)};
}

/// log(1 + r) for r in [-1/4, 1/2].
template <class F, class B>
typename B::V log1p_near(B& b, typename B::V r) {
  if constexpr (sizeof(F) == 4) {
    const auto square = b.mul(r, r);
    return b.fma(square, polynomial(b, Coefficients<F>::kLog, r), r);
  } else {
    // 2 atanh(r / (2 + r)), as r - (h - s (h + R)) with h = r^2/2: the leading term is exact.
    const auto s = b.div(r, b.add(r, b.constant(2)));
    const auto z = b.mul(s, s);
    const auto h = b.mul(r, b.mul(r, b.constant(0.5)));
    const auto sum = b.fma(polynomial(b, Coefficients<F>::kLog, z), z, h);
    return b.sub(r, b.fnma(s, sum, h));
  }
}

/// The logarithm's value at zero, infinity, NaN and below zero, where a builder without AVX-512
/// computed something else.
template <class F, class B>
typename B::V mend_log(B& b, typename B::V x, typename B::V result) {
  if (b.has_avx512()) return result;
  const double inf = std::numeric_limits<double>::infinity();
  const auto zero = b.constant(0);
  const auto low = b.select(b.eq(x, zero), b.constant(-inf),
                            b.constant(std::numeric_limits<double>::quiet_NaN()));
  result = b.select(b.le(x, zero), low, result);
  return b.select(b.lt(x, b.constant(inf)), result, x);
}

/// log x; 2 ulp (f64: 4).
template <class F, class B>
typename B::V math_log(B& b, typename B::V x) {
  const auto [m, e] = split_binary<F>(b, x);
  const auto near = log1p_near<F>(b, b.sub(m, b.constant(1)));
  return mend_log<F>(b, x, b.fma(e, b.constant(kLn2), near));
}

/// log2 x; 2 ulp (f64: 4). Powers of two are exact.
template <class F, class B>
typename B::V math_log2(B& b, typename B::V x) {
  const auto [m, e] = split_binary<F>(b, x);
  const auto near = log1p_near<F>(b, b.sub(m, b.constant(1)));
  return mend_log<F>(b, x, b.fma(near, b.constant(kLog2E), e));
}

/// log10 x; 2 ulp (f64: 4).
template <class F, class B>
typename B::V math_log10(B& b, typename B::V x) {
  const auto [m, e] = split_binary<F>(b, x);
  const auto r = b.sub(m, b.constant(1));
  if constexpr (sizeof(F) == 4) {
    // log10 2 and log10 e in two pieces; the first of log10 2 is short, its products exact. The
    // logarithm is r and a rest, so that what cancels is rounded once.
    constexpr double kTwo = 0x1.344p-2, kTwoLow = 0x1.3509f79fefp-18;
    constexpr double kE = 0x1.bcb7b2p-2, kELow = -0x1.5b235ep-27;
    const auto rest = b.mul(b.mul(r, r), polynomial(b, Coefficients<F>::kLog, r));
    const auto low = b.fma(r, b.constant(kELow), b.mul(e, b.constant(kTwoLow)));
    const auto sum = b.fma(r, b.constant(kE), b.mul(e, b.constant(kTwo)));
    return mend_log<F>(b, x, b.add(sum, b.fma(rest, b.constant(kE), low)));
  } else {
    constexpr double kTwo = 0x1.34413509f79ffp-2, kE = 0x1.bcb7b1526e50ep-2;
    const auto near = b.mul(log1p_near<F>(b, r), b.constant(kE));
    return mend_log<F>(b, x, b.fma(e, b.constant(kTwo), near));
  }
}

/// log(1 + x); what else belongs to x, `more` adds to what rounding 1 + x lost.
template <class F, class B, class More>
typename B::V log1p_and(B& b, typename B::V x, const More& more) {
  const auto one = b.constant(1);
  const auto u = b.add(x, one);
  const auto [m, e] = split_binary<F>(b, u);
  const auto near = log1p_near<F>(b, b.sub(m, one));
  // log(u) misses what rounding 1 + x lost, to first order that over u. The limits keep u = 0 and
  // u = inf from making NaN of it.
  const auto safe = clamp(b, u, Format<F>::kSmallestNormal, Format<F>::kLargest);
  const auto lost = b.div(more(b.sub(x, b.sub(safe, one))), safe);
  const auto log = b.fma(e, b.constant(kLn2), b.add(near, lost));
  return b.copysign(mend_log<F>(b, u, log), x);
}

/// log(1 + x); 2 ulp (f64: 4).
template <class F, class B>
typename B::V math_log1p(B& b, typename B::V x) {
  return log1p_and<F>(b, x, [](typename B::V lost) { return lost; });
}

/// log(1 + x + low), `low` below the last place of x.
template <class F, class B>
typename B::V log1p_of_sum(B& b, const Pair<typename B::V>& x) {
  return log1p_and<F>(b, x.high, [&](typename B::V lost) { return b.add(lost, x.low); });
}

}  // namespace hone::jit
