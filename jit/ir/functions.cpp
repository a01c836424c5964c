// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <string_view>

#include "jit/ir/expr.h"

namespace hone::ir {
namespace {

constexpr double kSqrtHalf = 0.70710678118654752440;
constexpr double kSqrtTwoOverPi = 0.79788456080286535588;

/// log(1 + e^x) without overflow.
double softplus(double x) { return x > 0 ? x + std::log1p(std::exp(-x)) : std::log1p(std::exp(x)); }
double sigmoid(double x) {
  if (x >= 0) return 1 / (1 + std::exp(-x));
  const double e = std::exp(x);
  return e / (1 + e);
}
/// 0.5 * x * (1 + erf(x / sqrt 2)); minus infinity gives -0, its limit.
double gelu(double x) { return x == -INFINITY ? -0.0 : 0.5 * x * std::erfc(-x * kSqrtHalf); }
double gelu_tanh(double x) {
  if (x == -INFINITY) return -0.0;
  return x * sigmoid(2 * kSqrtTwoOverPi * (x + 0.044715 * x * x * x));
}
double silu(double x) { return x == -INFINITY ? -0.0 : x * sigmoid(x); }

const Function kRows[] = {
    {"abs", 1, true, [](double a, double) { return std::fabs(a); }},
    {"ceil", 1, false, [](double a, double) { return std::ceil(a); }},
    {"cos", 1, false, [](double a, double) { return std::cos(a); }},
    {"erf", 1, false, [](double a, double) { return std::erf(a); }},
    {"exp", 1, false, [](double a, double) { return std::exp(a); }},
    {"exp2", 1, false, [](double a, double) { return std::exp2(a); }},
    {"expm1", 1, false, [](double a, double) { return std::expm1(a); }},
    {"floor", 1, false, [](double a, double) { return std::floor(a); }},
    {"gelu", 1, false, [](double a, double) { return gelu(a); }},
    {"gelu_tanh", 1, false, [](double a, double) { return gelu_tanh(a); }},
    {"log", 1, false, [](double a, double) { return std::log(a); }},
    {"log1p", 1, false, [](double a, double) { return std::log1p(a); }},
    {"log2", 1, false, [](double a, double) { return std::log2(a); }},
    {"pow", 2, false, [](double a, double b) { return std::pow(a, b); }},
    {"round", 1, false, [](double a, double) { return std::nearbyint(a); }},
    {"rsqrt", 1, false, [](double a, double) { return 1 / std::sqrt(a); }},
    {"sigmoid", 1, false, [](double a, double) { return sigmoid(a); }},
    {"silu", 1, false, [](double a, double) { return silu(a); }},
    {"sin", 1, false, [](double a, double) { return std::sin(a); }},
    {"softplus", 1, false, [](double a, double) { return softplus(a); }},
    {"sqrt", 1, false, [](double a, double) { return std::sqrt(a); }},
    {"tanh", 1, false, [](double a, double) { return std::tanh(a); }},
    {"trunc", 1, false, [](double a, double) { return std::trunc(a); }},
};

}  // namespace

std::span<const Function> functions() { return kRows; }

const Function* function_named(std::string_view name) {
  for (const Function& f : kRows) {
    if (name == f.name) return &f;
  }
  return nullptr;
}

}  // namespace hone::ir
