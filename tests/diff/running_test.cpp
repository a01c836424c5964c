// SPDX-License-Identifier: Apache-2.0
//
// Reductions in one pass: what they make of infinities, NaN and rows of which nothing is left is
// what the definition makes; and stages that share a loop.
#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "include/hone/hone.h"
#include "jit/passes/lower.h"
#include "ops/op.h"
#include "schedules/numerics.h"
#include "tests/diff/subject.h"
#include "tests/support/vector_units.h"

using namespace hone;
using namespace hone::tests;

namespace {

constexpr size_t kRows = 10, kColumns = 20;
constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

/// A row for each thing that is special about -inf, +inf and NaN, and parts without terms.
std::vector<float> special_rows() {
  std::vector<float> x(kRows * kColumns);
  for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i * 37 % 23) * 0.5F - 6;
  const auto fill = [&](size_t row, size_t from, size_t to, float with) {
    for (size_t j = from; j < to; ++j) x[row * kColumns + j] = with;
  };
  fill(1, 0, kColumns, -kInf);
  fill(2, 0, kColumns - 1, -kInf);
  fill(3, 5, 6, kInf);
  fill(4, 9, 10, kNan);
  fill(5, 0, 8, -kInf);
  fill(6, 0, kColumns, -1e30F);
  fill(6, 7, 8, -2e30F);
  fill(7, 0, 1, kInf);
  fill(7, 1, kColumns, -kInf);
  fill(8, 4, 8, kInf);
  fill(9, 8, kColumns, -kInf);
  return x;
}

/// `below`: only columns before the row's number count.
void by_definition(const std::vector<float>& x, const std::vector<float>& g, bool below,
                   std::vector<float>& sums, std::vector<float>& products) {
  for (size_t i = 0; i < kRows; ++i) {
    const size_t end = below ? i : kColumns;
    float most = -kInf;
    double sum = 0, product = 0;
    for (size_t j = 0; j < end; ++j) {
      const float v = x[i * kColumns + j];
      if (std::isnan(v) || v > most) most = v;
      if (std::isnan(most)) break;
    }
    for (size_t j = 0; j < end; ++j) {
      const float e = std::exp(x[i * kColumns + j] - most);
      sum += e;
      product += e * g[j];
    }
    sums[i] = static_cast<float>(sum);
    products[i] = static_cast<float>(product);
  }
}

void check_alike(const std::vector<float>& got, const std::vector<float>& want,
                 const std::string& what) {
  for (size_t i = 0; i < want.size(); ++i) {
    CAPTURE(what);
    CAPTURE(i);
    if (std::isnan(want[i])) {
      CHECK(std::isnan(got[i]));
    } else if (std::isinf(want[i])) {
      CHECK(got[i] == want[i]);
    } else {
      CHECK(got[i] == doctest::Approx(want[i]).epsilon(1e-5));
    }
  }
}

}  // namespace

TEST_CASE("running: special values are the definition's") {
  const std::vector<float> x = special_rows();
  std::vector<float> g(kColumns);
  for (size_t j = 0; j < kColumns; ++j) g[j] = static_cast<float>(j % 5) - 1.5F;
  for (const bool odd : {false, true}) {
    if (odd) g[2] = kInf;  // -inf in a row makes 0*inf of it
    for (const bool below : {false, true}) {
      const std::string problem =
          std::string("op f(X: f32[M,N], G: f32[N]) -> (Y: f32[M], Z: f32[M]) { ") +
          "x[i,j] = X[i,j]" + (below ? " where j < i" : "") +
          "; m[i] = max[j](x[i,j]); e[i,j] = exp(x[i,j] - m[i]); Y[i] = sum[j](e[i,j]); " +
          "Z[i] = sum[j](e[i,j]*G[j]) } M=10 N=20";
      std::vector<float> sums(kRows), products(kRows);
      by_definition(x, g, below, sums, products);
      for_each_unit([&](Engine& engine) {
        for (const char* cut : {"1", "4", "7", "20", "64"}) {
          const std::string running = std::string("running m/j ") + cut + " -> p";
          const std::string part = "Z.p/j.p" + std::string(cut);
          const std::string joined = running + "; compute m.p e.p Y.p at " + part + " store root";
          const std::string online = std::string("online m/j ") + cut + " -> p";
          for (const std::string& schedule :
               {running, "inline x; " + running, joined, online, "inline x; " + online,
                std::string("online m/j 8 -> p lanes=4 rows=4"),
                "inline x; " + joined + "; vectorize m.p/j Y.p/j Z.p/j"}) {
            std::vector<float> y(kRows), z(kRows);
            engine.compile(problem, {.schedule = schedule})(x, g, y, z);
            check_alike(y, sums, schedule);
            check_alike(z, products, schedule);
          }
        }
      });
    }
  }
}

TEST_CASE("running: a numerics class of its own, with the terms of a part") {
  const auto parsed = ops::parse_problem("softmax M=3 N=40");
  REQUIRE(parsed);
  const auto class_of = [&](const std::string& schedule) {
    const auto applied = schedules::apply(parsed->program, *schedules::Schedule::parse(schedule));
    REQUIRE(applied);
    return schedules::numerics_class(parsed->program, *applied);
  };
  const std::string eight = class_of("running m/j 8 -> p"), ten = class_of("running m/j 10 -> p");
  CHECK(eight != ten);
  CHECK(eight == class_of("running m/j 8 -> q; compute s.q m s e at Y/i"));
  CHECK(!schedules::admits("seq", eight));
  CHECK(!schedules::admits("exact", eight));
  CHECK(schedules::admits("any", eight));
}

TEST_CASE("compute: stages that read alike share a loop, which keeps what it computes") {
  const auto one_launch = [](const std::string& problem, const std::string& schedule) {
    CAPTURE(problem);
    const auto parsed = ops::parse_problem(problem);
    REQUIRE(parsed);
    const auto steps = schedules::Schedule::parse(schedule);
    REQUIRE(steps);
    Subject subject(problem, parsed->program);
    for (const BackEnd* back_end : {&kInterp, &kAvx2, &kAvx512}) {
      if (!can_run(*back_end)) continue;
      std::string rejected;
      CHECK(subject.check(*steps, *back_end, &rejected) == "");
      CHECK(rejected == "");
      const auto applied = schedules::apply(parsed->program, *steps);
      REQUIRE(applied);
      const auto nest = jit::lower(*applied, target_of(*back_end));
      REQUIRE(nest);
      CHECK(nest->launches.size() == 1);
    }
  };
  one_launch(
      "op step(G: f32[N], inout M: f32[N], inout V: f32[N], inout P: f32[N]) { "
      "M[i] = M[i]*0.5 + G[i]; V[i] = V[i]*0.25 + G[i]*G[i]; "
      "P[i] = P[i] - M[i]/(sqrt(V[i]) + 1) } N=1000",
      "split P/i 64 -> i.o i.i; compute M V at P/i.o; vectorize M/i V/i P/i.i");
  one_launch(
      "op halves(X: f32[A,B], Z: f32[A,B]) -> (P: f32[B,A], Q: f32[A,B]) { "
      "P[k,l] = X[l,k] + Z[l,k]; Q[i,j] = X[i,j] - Z[i,j] } A=20 B=33",
      "compute P at Q/i");
  one_launch(
      "op statistics(X: f32[M,N]) -> (A: f32[M], B: f32[M], Q: f32[M,N]) { "
      "A[i] = max[j](abs(X[i,j])); B[i] = sum[j](X[i,j]); Q[i,j] = X[i,j] / A[i] } M=9 N=40",
      "compute A B at Q/i");
}
