// SPDX-License-Identifier: Apache-2.0
// Terms that a congruence of indices leaves out of a reduction are not there.
#include "ops/congruences.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <cmath>
#include <string>
#include <vector>

#include "jit/interp/reference.h"
#include "ops/op.h"

using namespace hone;

namespace {

ops::Problem parsed(const std::string& text) {
  auto p = ops::parse_problem(text);
  REQUIRE_MESSAGE(p, p.failure().message);
  return *std::move(p);
}

std::string value(const std::string& text, const std::string& stage = "Y") {
  const ops::Problem p = parsed(text);
  const ir::Stage* s = p.program.stage(stage);
  REQUIRE(s);
  return print(s->value);
}

/// `Y[u] = REDUCE[k](select(SUM % MODULUS == REMAINDER, X[...] * F[k], NOTHING))`.
std::string op_of(const std::string& reduce, const std::string& sum, int modulus, int remainder,
                  int taps, const std::string& nothing = "0") {
  return fmt::format(
      "op f(X: f32[N], F: f32[K]) -> (Y: f32[P]) {{ Y[u] = {}[k](select(({})%{} == {}, "
      "(X[({} + 1)/{}] else 0.5) * F[k], {})) }} N=11 K={} P=23",
      reduce, sum, modulus, remainder, sum, modulus, nothing, taps);
}

/// What a program makes of numbers that are one apart, and of NaN and infinity in X where `wild`.
std::vector<double> results(const ir::Program& program, bool wild) {
  std::vector<jit::TensorView> views = jit::parameter_views(program, {});
  std::vector<std::vector<float>> memory;
  for (jit::TensorView& v : views) {
    memory.emplace_back(static_cast<size_t>(v.elements()));
    for (size_t i = 0; i < memory.back().size(); ++i) memory.back()[i] = static_cast<float>(i) - 3;
    v.data = memory.back().data();
  }
  if (wild) memory[0][4] = NAN, memory[1].back() = INFINITY;
  const auto out = jit::evaluate(program, views, {}, {}, {});
  REQUIRE(out);
  return out->outputs[0].f;
}

}  // namespace

TEST_CASE("congruences: an index is every n-th place, and quotients lose their remainders") {
  CHECK(value(op_of("sum", "u - k", 2, 0, 6)) == "X[u/2 - k] else 0.5*F[2*k + u%2]");
  CHECK(value(op_of("sum", "k - u", 2, 1, 6)) ==
        "X[k - (u + 1)/2 + 1] else 0.5*F[2*k + (u + 1)%2]");
  CHECK(value(op_of("sum", "u - 2*k", 3, 1, 6)) ==
        "X[(u - 2*((-1*u + 1)%3) + 1)/3 + -2*k] else 0.5*F[3*k + (-1*u + 1)%3]");
  // What a range that is no multiple leaves over is a condition.
  CHECK(value(op_of("sum", "u - k", 2, 0, 5)) ==
        "select(2*k + u%2 < 5,X[u/2 - k] else 0.5*F[2*k + u%2] else 0.0,0.0)");
  // What wraps around has other remainders.
  CHECK(value(op_of("sum", "4611686018427387904*u - k", 3, 0, 6)).starts_with("select("));
  // 2*k is odd nowhere, and no one value of it follows: the condition stays.
  CHECK(value(op_of("sum", "u - 2*k", 4, 1, 6)) ==
        "select((u - 2*k)%4 == 1,X[(u - 2*k + 1)/4] else 0.5*F[k],0.0)");
}

TEST_CASE("congruences: only what changes nothing is left out") {
  CHECK(value(op_of("max", "u - k", 2, 0, 6)) ==
        "select((u - k)%2 == 0,X[(u - k + 1)/2] else 0.5*F[k],0.0)");
  CHECK(value(op_of("max", "u - k", 2, 0, 6, "-inf")) == "X[u/2 - k] else 0.5*F[2*k + u%2]");
  CHECK(value(op_of("prod", "u - k", 2, 0, 6, "1")) == "X[u/2 - k] else 0.5*F[2*k + u%2]");
  // Where a term goes is checked, whatever it is.
  const std::string text =
      "op f(I: i32[K], F: f32[K], inout Y: f32[P]) { Y[I[k]] += select(k%2 == 0, F[k], 0) } "
      "P=5 K=6";
  CHECK(value(text) == "select(k%2 == 0,F[k],0.0)");
}

TEST_CASE("congruences: all ways to solve them give what the definition does") {
  for (const int factor : {-7, -3, -2, -1, 1, 2, 5}) {
    for (const int modulus : {2, 3, 4, 7, 40}) {
      for (const int taps : {1, 4, 7, 12}) {
        for (const char* reduce : {"sum", "max"}) {
          const std::string nothing = *reduce == 's' ? "0" : "-inf";
          const std::string sum = fmt::format("3*u + {}*k - 2", factor);
          const std::string text = op_of(reduce, sum, modulus, taps % modulus, taps, nothing);
          CAPTURE(text);
          const ops::Problem p = parsed(text);
          for (const bool wild : {false, true}) {
            const std::vector<double> left = results(p.program, wild);
            const std::vector<double> right = results(p.definition, wild);
            REQUIRE(left.size() == right.size());
            for (size_t i = 0; i < left.size(); ++i) {
              CHECK((left[i] == right[i] || (std::isnan(left[i]) && std::isnan(right[i]))));
            }
          }
        }
      }
    }
  }
}
