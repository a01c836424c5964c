// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string_view>

#include "jit/x86/math/erf.h"
#include "jit/x86/math/exp.h"
#include "jit/x86/math/log.h"
#include "jit/x86/math/logistic.h"
#include "jit/x86/math/pow.h"
#include "jit/x86/math/trig.h"

namespace hone::jit {

/// A scalar function that is expanded into vector instructions, by its name in the language.
template <class B>
struct MathRow {
  std::string_view name;
  int arity;
  /// The largest error, in units in the last place of the exact result.
  double ulp;
  /// An error of this many times epsilon (2^-23, 2^-52) times the argument is in order, too.
  double of_argument;
  typename B::V (*expand)(B& b, typename B::V x, typename B::V y);
};

/// 1 / sqrt(x), each rounded; 2 ulp.
template <class F, class B>
typename B::V math_rsqrt(B& b, typename B::V x) {
  return b.div(b.constant(1), b.sqrt(x));
}

/// All the functions for vectors of F, sorted by name; `y` is ignored where arity is 1.
template <class F, class B>
std::span<const MathRow<B>> math_rows() {
  using V = typename B::V;
  constexpr double kExact = sizeof(F) == 4 ? 2 : 4;
  static constexpr MathRow<B> kRows[] = {
      {"cos", 1, kExact, 0, [](B& b, V x, V) { return math_cos<F>(b, x); }},
      {"erf", 1, kExact, 0, [](B& b, V x, V) { return math_erf<F>(b, x); }},
      {"exp", 1, kExact, 0, [](B& b, V x, V) { return math_exp<F>(b, x); }},
      {"exp2", 1, kExact, 0, [](B& b, V x, V) { return math_exp2<F>(b, x); }},
      {"expm1", 1, kExact, 0, [](B& b, V x, V) { return math_expm1<F>(b, x); }},
      {"gelu", 1, 4, 1, [](B& b, V x, V) { return math_gelu<F>(b, x); }},
      {"gelu_tanh", 1, 4, 1, [](B& b, V x, V) { return math_gelu_tanh<F>(b, x); }},
      {"log", 1, kExact, 0, [](B& b, V x, V) { return math_log<F>(b, x); }},
      {"log1p", 1, kExact, 0, [](B& b, V x, V) { return math_log1p<F>(b, x); }},
      {"log2", 1, kExact, 0, [](B& b, V x, V) { return math_log2<F>(b, x); }},
      {"pow", 2, kExact, 0, [](B& b, V x, V y) { return math_pow<F>(b, x, y); }},
      {"rsqrt", 1, 2, 0, [](B& b, V x, V) { return math_rsqrt<F>(b, x); }},
      {"sigmoid", 1, kExact, 0, [](B& b, V x, V) { return math_sigmoid<F>(b, x); }},
      {"silu", 1, 4, 1, [](B& b, V x, V) { return math_silu<F>(b, x); }},
      {"sin", 1, kExact, 0, [](B& b, V x, V) { return math_sin<F>(b, x); }},
      {"softplus", 1, 4, 1, [](B& b, V x, V) { return math_softplus<F>(b, x); }},
      {"tanh", 1, kExact, 0, [](B& b, V x, V) { return math_tanh<F>(b, x); }},
  };
  return kRows;
}

}  // namespace hone::jit
