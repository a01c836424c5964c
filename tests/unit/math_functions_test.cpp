// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "jit/ir/expr.h"
#include "jit/ir/functions/function.h"
#include "jit/x86/math/functions.h"
#include "tests/unit/math_sim.h"

namespace hone::jit {
namespace {

/// The exact value, near enough, in a type wider than the one under test.
template <class T>
T sigmoid(T x) {
  return x >= 0 ? 1 / (1 + std::exp(-x)) : std::exp(x) / (1 + std::exp(x));
}

template <class T>
T gated(T x, T value) {
  return x == -std::numeric_limits<T>::infinity() ? T(-0.0) : x * value;
}

template <class T>
struct Reference {
  const char* name;
  T (*value)(T);
};

/// The row of that name.
template <class T>
const Reference<T>& reference(std::string_view name) {
  static constexpr T kSqrtHalf = 0.707106781186547524400844362104849L;
  static constexpr T kGeluScale = 1.59576912160573071175978423973752L;  // 2 sqrt(2/pi)
  static const Reference<T> kRows[] = {
      {"abs", [](T a) { return std::fabs(a); }},
      {"acos", [](T a) { return std::acos(a); }},
      {"acosh", [](T a) { return std::acosh(a); }},
      {"asin", [](T a) { return std::asin(a); }},
      {"asinh", [](T a) { return std::asinh(a); }},
      {"atan", [](T a) { return std::atan(a); }},
      {"atanh", [](T a) { return std::atanh(a); }},
      {"cbrt", [](T a) { return std::cbrt(a); }},
      {"ceil", [](T a) { return std::ceil(a); }},
      {"cos", [](T a) { return std::cos(a); }},
      {"cosh", [](T a) { return std::cosh(a); }},
      {"erf", [](T a) { return std::erf(a); }},
      {"exp", [](T a) { return std::exp(a); }},
      {"exp2", [](T a) { return std::exp2(a); }},
      {"expm1", [](T a) { return std::expm1(a); }},
      {"floor", [](T a) { return std::floor(a); }},
      {"gelu", [](T a) { return gated(a, std::erfc(-a * kSqrtHalf) / 2); }},
      {"gelu_tanh",
       [](T a) { return gated(a, sigmoid(kGeluScale * (a + T(0.044715L) * a * a * a))); }},
      {"log", [](T a) { return std::log(a); }},
      {"log10", [](T a) { return std::log10(a); }},
      {"log1p", [](T a) { return std::log1p(a); }},
      {"log2", [](T a) { return std::log2(a); }},
      {"round", [](T a) { return std::nearbyint(a); }},
      {"rsqrt", [](T a) { return 1 / std::sqrt(a); }},
      {"sigmoid", [](T a) { return sigmoid(a); }},
      {"silu", [](T a) { return gated(a, sigmoid(a)); }},
      {"sin", [](T a) { return std::sin(a); }},
      {"sinh", [](T a) { return std::sinh(a); }},
      {"softplus", [](T a) { return std::fmax(a, T(0)) + std::log1p(std::exp(-std::fabs(a))); }},
      {"sqrt", [](T a) { return std::sqrt(a); }},
      {"tan", [](T a) { return std::tan(a); }},
      {"tanh", [](T a) { return std::tanh(a); }},
      {"trunc", [](T a) { return std::trunc(a); }},
  };
  const auto* row = std::find_if(std::begin(kRows), std::end(kRows),
                                 [&](const Reference<T>& r) { return name == r.name; });
  REQUIRE_MESSAGE(row != std::end(kRows), name << " has no reference in this file");
  return *row;
}

template <class F>
using Wider = std::conditional_t<sizeof(F) == 4, double, long double>;

template <class F>
constexpr DType kType = sizeof(F) == 4 ? DType::kF32 : DType::kF64;

/// One unit in the last place of an F near `value`.
template <class F, class T>
T unit(T value) {
  using Limits = std::numeric_limits<F>;
  if (value == 0) return Limits::denorm_min();
  const int exponent =
      std::clamp(std::ilogb(value), Limits::min_exponent - 1, Limits::max_exponent - 1);
  return std::ldexp(T(1), exponent - Limits::digits + 1);
}

/// The error of `result` as a share of what the function's class allows; an infinity counts as the
/// power of two just out of range.
template <class F>
double tolerated(const ir::Function& fn, F x, F result, Wider<F> exact) {
  using T = Wider<F>;
  if (std::isnan(exact) || std::isnan(result))
    return std::isnan(exact) == std::isnan(result) ? 0 : HUGE_VAL;
  if (std::signbit(exact) != std::signbit(result) && result == 0) return HUGE_VAL;
  const T limit = std::ldexp(T(1), std::numeric_limits<F>::max_exponent);
  const T error =
      std::fabs(std::clamp(T(result), -limit, limit) - std::clamp(exact, -limit, limit));
  const ir::Tolerance most = ir::tolerance(fn.error, kType<F>);
  T allowed = most.units * unit<F>(exact);
  if (most.of_argument > 0) {
    const T argument = std::fmin(std::fabs(T(x)), limit);
    allowed = std::max(allowed, T(most.of_argument) * std::numeric_limits<F>::epsilon() * argument);
  }
  const T flushed = ir::flushed_below(kType<F>);
  if (fn.flushes && std::fabs(exact) < flushed) allowed = std::max(allowed, flushed);
  return static_cast<double>(error / allowed);
}

/// Arguments worth a look in any function, and around every power of two.
template <class F>
std::vector<F> notable() {
  using Limits = std::numeric_limits<F>;
  std::vector<F> values = {0,
                           Limits::infinity(),
                           Limits::quiet_NaN(),
                           Limits::max(),
                           Limits::min(),
                           Limits::denorm_min(),
                           F(0.1),
                           F(3.92),
                           F(5.95),
                           F(86.8),
                           F(87.3),
                           F(707.9),
                           F(708.4),
                           F(9.02),
                           F(19.1),
                           F(88.7),
                           F(88.73),
                           F(89.5),
                           F(103.9),
                           F(104.6),
                           F(709.7),
                           F(709.8),
                           F(745),
                           F(746),
                           F(3.14159265358979),
                           F(1.57079632679490)};
  for (int e = Limits::min_exponent; e < Limits::max_exponent; ++e) {
    const F power = std::ldexp(F(1), e);
    values.insert(values.end(), {power, std::nextafter(power, F(0)), power + power / 2});
  }
  const size_t positive = values.size();
  for (size_t i = 0; i < positive; ++i) values.push_back(-values[i]);
  return values;
}

/// Notable arguments and `count` others: half of them any bits, half around 1.
template <class F>
std::vector<F> arguments(int count) {
  std::vector<F> values = notable<F>();
  std::mt19937_64 random(1);
  std::uniform_real_distribution<F> small(-20, 20);
  for (int i = 0; i < count; ++i) {
    typename SimBuilder<F>::U bits = static_cast<typename SimBuilder<F>::U>(random());
    values.push_back(i % 2 == 0 ? SimBuilder<F>::value(bits) : small(random));
  }
  return values;
}

template <class F>
void check_unary(int count) {
  using Builder = SimBuilder<F>;
  const std::vector<F> values = arguments<F>(count);
  for (const bool avx512 : {false, true}) {
    for (const ir::Function& row : ir::functions()) {
      if (row.arity != 1) continue;
      const auto& exact = reference<Wider<F>>(row.name);
      double worst = 0;
      F at = 0;
      for (const F x : values) {
        Builder b{.avx512 = avx512};
        const F result = expand<F>(b, row.expansion, x, x);
        const Wider<F> wide = x;
        const double share = tolerated<F>(row, x, result, std::isnan(x) ? wide : exact.value(wide));
        if (share > worst) worst = share, at = x;
      }
      INFO(row.name, " avx512=", avx512, " worst at ", at);
      CHECK(worst <= 1);
    }
  }
}

TEST_CASE("math: f32 functions stay within their errors, with and without AVX-512") {
  check_unary<float>(20000);
}

TEST_CASE("math: f64 functions stay within their errors, with and without AVX-512") {
  check_unary<double>(20000);
}

template <class T>
struct PairReference {
  const char* name;
  T (*value)(T, T);
};

/// The row of that name, of two arguments.
template <class T>
const PairReference<T>& pair_reference(std::string_view name) {
  static const PairReference<T> kRows[] = {
      {"atan2", [](T a, T b) { return std::atan2(a, b); }},
      {"pow", [](T a, T b) { return std::pow(a, b); }},
  };
  const auto* row = std::find_if(std::begin(kRows), std::end(kRows),
                                 [&](const PairReference<T>& r) { return name == r.name; });
  REQUIRE_MESSAGE(row != std::end(kRows), name << " has no reference in this file");
  return *row;
}

/// Pairs of special values, pairs whose power is in range, and pairs of like and unlike size.
template <class F>
std::vector<std::pair<F, F>> argument_pairs(int count) {
  using Limits = std::numeric_limits<F>;
  const F special[] = {0,
                       1,
                       2,
                       3,
                       F(0.5),
                       F(1.5),
                       Limits::infinity(),
                       Limits::quiet_NaN(),
                       Limits::max(),
                       Limits::min(),
                       Limits::denorm_min(),
                       3 * Limits::denorm_min(),
                       F(16777217),
                       F(4503599627370497)};
  std::vector<std::pair<F, F>> pairs;
  for (const F x : special) {
    for (const F y : special) pairs.insert(pairs.end(), {{x, y}, {-x, y}, {x, -y}, {-x, -y}});
  }
  std::mt19937_64 random(2);
  std::uniform_real_distribution<F> exponent(-1, 1);
  const auto signed_power = [&](F e) {
    const F size = std::exp2(e);
    return random() % 2 ? size : -size;
  };
  for (int i = 0; i < count; ++i) {
    const F x = std::exp2(exponent(random) * (i % 2 ? 2 : Limits::max_exponent));
    const F y = exponent(random) * Limits::max_exponent / std::fabs(std::log2(x));
    pairs.push_back({x, y});
    const F size = exponent(random) * Limits::max_exponent;
    const F apart = exponent(random) * (i % 2 ? 2 : Limits::digits + 4);
    pairs.push_back({signed_power(size), signed_power(size + apart)});
  }
  return pairs;
}

template <class F>
void check_binary(int count) {
  const auto pairs = argument_pairs<F>(count);
  for (const ir::Function& row : ir::functions()) {
    if (row.arity != 2) continue;
    const auto& reference = pair_reference<Wider<F>>(row.name);
    for (const bool avx512 : {false, true}) {
      for (const auto& arguments : pairs) {
        const F x = arguments.first, y = arguments.second;
        SimBuilder<F> b{.avx512 = avx512};
        const F result = expand<F>(b, row.expansion, x, y);
        const Wider<F> exact = reference.value(x, y);
        INFO(row.name, "(", x, ", ", y, ") = ", result, " avx512=", avx512);
        CHECK(tolerated<F>(row, x, result, exact) <= 1);
      }
    }
  }
}

TEST_CASE("math: functions of two arguments, sampled, and their special cases") {
  check_binary<float>(20000);
  check_binary<double>(20000);
}

/// Instructions of one function for vectors of F, no lane on a slow path.
template <class F>
SimBuilder<F> counted(std::string_view name, bool avx512) {
  SimBuilder<F> b{.avx512 = avx512, .slow_paths = false};
  expand<F>(b, ir::function_named(name)->expansion, F(0.7), F(1.3));
  return b;
}

TEST_CASE("math: instructions a vector stay within the budget of bounds") {
  CHECK(counted<float>("exp", true).operations <= 12);
  CHECK(counted<float>("gelu", true).operations <= 20);
  CHECK(counted<float>("gelu_tanh", true).operations <= 16);
  CHECK(counted<float>("silu", true).operations <= 16);
  CHECK(counted<float>("sigmoid", true).operations <= 18);
  CHECK(counted<float>("tanh", true).operations <= 21);
}

}  // namespace
}  // namespace hone::jit
