// SPDX-License-Identifier: Apache-2.0
// The language's functions in Halide's, and the C library's where Halide has none.
#include "jit/halide/functions.h"

#include <cmath>
#include <limits>
#include <string_view>

#include "jit/ir/functions/function.h"

namespace hone::jit::halide {
namespace {

using E = Halide::Expr;

/// Calls a function of the C library: `name` on f64, `namef` on f32.
E library(const char* name, const E& x) {
  const std::string symbol = x.type().bits() == 32 ? std::string(name) + "f" : name;
  return Halide::Internal::Call::make(x.type(), symbol, {x}, Halide::Internal::Call::PureExtern);
}

E constant(const E& like, double value) { return Halide::Internal::make_const(like.type(), value); }

/// `value`, but `limit` where x is infinity, or minus infinity.
E at_infinity(const E& x, bool positive, const E& value, double limit) {
  const int bits = x.type().bits();
  const uint64_t infinity = bits == 64 ? 0x7ff0000000000000u : 0x7f800000u;
  const uint64_t sign = positive ? 0 : uint64_t{1} << (bits - 1);
  const E pattern = Halide::Internal::make_const(Halide::UInt(bits), infinity | sign);
  return Halide::select(Halide::reinterpret(Halide::UInt(bits), x) == pattern, constant(x, limit),
                        value);
}

/// Halide's polynomials clamp their argument, and with it NaN.
E keeping_nan(const E& x, const E& value) { return Halide::select(is_nan_bits(x), x, value); }

/// Of infinity Halide's polynomial makes 0.
E exponential(const E& x) { return keeping_nan(x, at_infinity(x, true, Halide::exp(x), INFINITY)); }

/// Halide's polynomial takes denormals for the least normal number.
E logarithm(const E& x) {
  if (x.type().bits() == 64) return Halide::log(x);
  // Fixed by: mathematics.
  constexpr double kLog = 22.180709777918249;  // 32 * log(2)
  const E small = x < constant(x, 0x1p-126);
  const E scaled = Halide::select(small, x * constant(x, 0x1p32), x);
  const E shift = Halide::select(small, constant(x, kLog), constant(x, 0));
  return keeping_nan(x, at_infinity(x, true, Halide::log(scaled) - shift, INFINITY));
}

E sigmoid(const E& x) { return constant(x, 1) / (constant(x, 1) + exponential(-x)); }

/// One row per function.
struct Row {
  std::string_view name;
  E (*make)(const E& x);
};

const Row kRows[] = {
    {"acos", [](const E& x) { return library("acos", x); }},
    {"acosh", [](const E& x) { return library("acosh", x); }},
    {"asin", [](const E& x) { return library("asin", x); }},
    {"asinh", [](const E& x) { return library("asinh", x); }},
    {"atan", [](const E& x) { return library("atan", x); }},
    {"atanh", [](const E& x) { return library("atanh", x); }},
    {"cbrt", [](const E& x) { return library("cbrt", x); }},
    {"ceil", [](const E& x) { return Halide::ceil(x); }},
    {"cos", [](const E& x) { return Halide::cos(x); }},
    {"cosh", [](const E& x) { return library("cosh", x); }},
    {"erf", [](const E& x) { return library("erf", x); }},
    {"exp", exponential},
    {"exp2", [](const E& x) { return library("exp2", x); }},
    {"expm1", [](const E& x) { return library("expm1", x); }},
    {"floor", [](const E& x) { return Halide::floor(x); }},
    {"gelu",
     [](const E& x) {
       const E tail = library("erfc", x * constant(x, -0.70710678118654752440));
       return at_infinity(x, false, constant(x, 0.5) * x * tail, -0.0);
     }},
    {"gelu_tanh",
     [](const E& x) {
       const E cubic = x + constant(x, 0.044715) * x * x * x;
       const E s = sigmoid(constant(x, 2 * 0.79788456080286535588) * cubic);
       return at_infinity(x, false, x * s, -0.0);
     }},
    {"log", logarithm},
    {"log10", [](const E& x) { return library("log10", x); }},
    {"log1p", [](const E& x) { return library("log1p", x); }},
    {"log2", [](const E& x) { return library("log2", x); }},
    {"round", [](const E& x) { return Halide::round(x); }},
    {"rsqrt", [](const E& x) { return constant(x, 1) / Halide::sqrt(x); }},
    {"sigmoid", sigmoid},
    {"silu", [](const E& x) { return at_infinity(x, false, x * sigmoid(x), -0.0); }},
    {"sin", [](const E& x) { return Halide::sin(x); }},
    {"sinh", [](const E& x) { return library("sinh", x); }},
    {"softplus",
     [](const E& x) {
       return greater(x, constant(x, 0), Floats::kStrict) +
              library("log1p", exponential(-Halide::abs(x)));
     }},
    {"sqrt", [](const E& x) { return Halide::sqrt(x); }},
    {"tan", [](const E& x) { return library("tan", x); }},
    {"tanh", [](const E& x) { return Halide::tanh(x); }},
    {"trunc", [](const E& x) { return Halide::trunc(x); }},
};

/// On f32, where a few more units in the last place do.
const Row kFastRows[] = {
    {"erf", [](const E& x) { return Halide::erf(x); }},
    {"exp", [](const E& x) { return Halide::exp(x); }},
    {"exp2", [](const E& x) { return Halide::exp(x * constant(x, 0.69314718055994530942)); }},
    {"gelu",
     [](const E& x) {
       const E erf = Halide::erf(x * constant(x, 0.70710678118654752440));
       return constant(x, 0.5) * x * (constant(x, 1) + erf);
     }},
    {"log2", [](const E& x) { return Halide::log(x) * constant(x, 1.44269504088896340736); }},
};

}  // namespace

E call(const ir::Function& function, DType type, const std::vector<E>& args, Floats floats) {
  const std::string_view name = function.name;
  const Halide::Type t = value_type(type);
  if (name == "abs") return Halide::cast(t, Halide::abs(args[0]));
  // Of half precision the functions are those of f32, rounded.
  const bool half = size_of(type) == 2;
  const E x = half ? Halide::cast<float>(args[0]) : args[0];
  if (args.size() == 2) {
    const E y = half ? Halide::cast<float>(args[1]) : args[1];
    const std::string symbol = std::string(name) + (y.type().bits() == 32 ? "f" : "");
    return Halide::cast(t, Halide::Internal::Call::make(x.type(), symbol, {x, y},
                                                        Halide::Internal::Call::PureExtern));
  }
  const bool fast = floats == Floats::kFast && x.type().bits() == 32;
  for (const Row& row : kFastRows) {
    if (fast && row.name == name) return Halide::cast(t, row.make(x));
  }
  for (const Row& row : kRows) {
    if (row.name == name) return Halide::cast(t, row.make(x));
  }
  refuse("function " + std::string(name) + ": Halide has none of its kind");
}

}  // namespace hone::jit::halide
