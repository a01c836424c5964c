// SPDX-License-Identifier: Apache-2.0
// Quotients by a reciprocal in two parts, against divisions: as the code generator expands them,
// and as kernels have them.
#include "jit/x86/math/reciprocal.h"

#include <doctest/doctest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "include/hone/hone.h"
#include "jit/x86/math/functions.h"
#include "tests/unit/math_sim.h"

using namespace hone;
using namespace hone::jit;

namespace {

/// What kernels compute of x/s.
template <class F>
F quotient(F x, F s) {
  SimBuilder<F> b{.avx512 = true};
  const F high = reciprocal_high<F>(b, s), low = reciprocal_low<F>(b, s, high);
  const F scaled = b.mul(x, reciprocal_scale<F>(b, s));
  return b.fma(scaled, high, b.mul(scaled, low));
}

/// How many values lie between two; infinities are values, and so are NaN to each other.
template <class F>
int64_t apart(F a, F b) {
  if (std::isnan(a) || std::isnan(b)) return std::isnan(a) && std::isnan(b) ? 0 : INT64_MAX;
  const auto place = [](F v) {
    const auto bits = SimBuilder<F>::bits(std::fabs(v));
    return std::signbit(v) ? -static_cast<int64_t>(bits) : static_cast<int64_t>(bits);
  };
  return std::abs(place(a) - place(b));
}

template <class F>
std::vector<F> special_values() {
  using L = std::numeric_limits<F>;
  std::vector<F> all = {
      0,        L::denorm_min(), L::min() / 2,  L::min(),      1, F(1) / 3, F(1.5), 3, 7, 49,
      L::max(), L::max() / 3,    L::infinity(), L::quiet_NaN()};
  for (int e = L::min_exponent - L::digits; e < L::max_exponent; e += 9) {
    all.push_back(std::ldexp(F(1.7), e));
    all.push_back(std::ldexp(F(1), e));
  }
  for (size_t i = 0, n = all.size(); i < n; ++i) all.push_back(-all[i]);
  return all;
}

template <class F>
void check_special() {
  for (const F x : special_values<F>()) {
    for (const F s : special_values<F>()) {
      CAPTURE(x);
      CAPTURE(s);
      const F want = x / s, got = quotient(x, s);
      CHECK(apart(want, got) <= 1);
      const auto ordinary = [](F v) { return v != 0 && std::isfinite(v); };
      if (ordinary(x) && ordinary(s)) continue;
      CHECK(apart(want, got) == 0);
      if (want == want) CHECK(std::signbit(want) == std::signbit(got));
    }
  }
}

/// How many of random quotients are not what a division has, but the next value.
template <class F, class Draw>
int others(int count, const Draw& draw) {
  std::mt19937_64 random(7);
  int n = 0;
  for (int i = 0; i < count; ++i) {
    const F x = draw(random()), s = draw(random());
    const int64_t d = apart(x / s, quotient(x, s));
    CHECK_MESSAGE(d <= 1, x << " / " << s);
    n += d != 0;
  }
  return n;
}

template <class F>
void check_random(int count) {
  using U = typename SimBuilder<F>::U;
  // Denormal results are rounded twice.
  CHECK(others<F>(count, [](uint64_t r) { return std::bit_cast<F>(static_cast<U>(r)); }) <
        count / 100);
  constexpr int kDigits = std::numeric_limits<F>::digits;
  CHECK(others<F>(count, [](uint64_t r) {
          return std::ldexp(static_cast<F>(r >> (64 - kDigits)), static_cast<int>(r % 60));
        }) <= 1);
}

template <class F>
void check_whole() {
  for (int n = -300; n <= 300; ++n) {
    for (int s = 1; s <= 2000; ++s) {
      const F divisor = static_cast<F>(s);
      CHECK(quotient(static_cast<F>(n) * divisor, divisor) == static_cast<F>(n));
    }
  }
}

}  // namespace

TEST_CASE("reciprocal: zeros, infinities, NaN and the ends of the range are as in a division") {
  check_special<float>();
  check_special<double>();
}

TEST_CASE("reciprocal: quotients of random bits are at most one unit off, and rarely") {
  check_random<float>(300000);
  check_random<double>(300000);
}

TEST_CASE("reciprocal: whole quotients are exact") {
  check_whole<float>();
  check_whole<double>();
}

TEST_CASE("reciprocal: kernels divide so, whatever the loops are") {
  const std::vector<float> values = special_values<float>();
  const auto rows = static_cast<int64_t>(values.size());
  constexpr int64_t kColumns = 83;
  std::vector<float> x(static_cast<size_t>(rows * kColumns)), y(x.size());
  for (size_t i = 0; i < x.size(); ++i) x[i] = values[i * 7 % values.size()];
  const std::string text =
      "op q(X: f32[M,N], s: f32[M]) -> (Y: f32[M,N]) { Y[i,j] = X[i,j]/s[i] } M=" +
      std::to_string(rows) + " N=83";
  for (const char* isa : {"x86 isa=avx2 threads=1", "x86 threads=1"}) {
    EngineOptions options;
    options.cache = ":memory:";
    options.target = isa;
    Engine engine(options);
    for (const std::string loops :
         {"", "; vectorize Y/j", "; split Y/j 32 -> o l tail=peel; vectorize Y/l",
          "; reorder Y/j Y/i; vectorize Y/i", "; reorder Y/j Y/i",
          "; split Y/i 4 -> o l; unroll Y/l; vectorize Y/j"}) {
      CAPTURE(isa);
      CAPTURE(loops);
      engine.compile(text, {.schedule = "reciprocal Y/j" + loops})(x, values, y);
      for (size_t i = 0; i < y.size(); ++i) {
        const float s = values[i / kColumns];
        CHECK_MESSAGE(apart(y[i], quotient(x[i], s)) == 0, x[i] << " / " << s);
      }
    }
  }
}
