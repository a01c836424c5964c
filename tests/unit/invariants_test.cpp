// SPDX-License-Identifier: Apache-2.0
// What depends on fewer indices than it is written with is computed for those alone.
#include "ops/invariants.h"

#include <doctest/doctest.h>

#include <string>

#include "ops/op.h"

using namespace hone;

namespace {

ops::Problem parsed(const std::string& text) {
  auto p = ops::parse_problem(text);
  REQUIRE_MESSAGE(p, p.failure().message);
  return *std::move(p);
}

size_t rank(const ops::Problem& p, const std::string& stage) {
  const ir::Stage* s = p.program.stage(stage);
  REQUIRE(s);
  return s->vars.size();
}

std::string value(const ops::Problem& p, const std::string& stage) {
  const ir::Stage* s = p.program.stage(stage);
  REQUIRE(s);
  return print(s->value);
}

}  // namespace

TEST_CASE("invariants: a temporary keeps the dims that its value depends on") {
  const auto p = parsed(
      "op f(A: f32[M], B: f32[N]) -> (Y: f32[M,N]) { t[i in 0..M,j in 0..N] = exp(A[i]); "
      "u[i in 0..M,j in 0..N] = t[i,j] + 1; Y[i,j] = u[i,j] * B[j] + (u[j,i] else 7) } M=5 N=6");
  CHECK(rank(p, "t") == 1);
  CHECK(rank(p, "u") == 1);
  CHECK(p.program.buffer("u")->shape.size() == 1);
  // The guard of a dim that is gone becomes a condition.
  CHECK(value(p, "Y") == "u[i]*B[j] + select(0 <= i && i < 6,u[j] else 7.0,7.0)");
  CHECK(p.definition.stage("u")->vars.size() == 2);
}

TEST_CASE("invariants: a result that repeats a reduction reads it") {
  const auto p =
      parsed("op f(A: f32[K,N]) -> (Y: f32[M,N]) { Y[i,j] = sum[k](A[k,j]) } M=50 N=60 K=70");
  CHECK(rank(p, "Y.1") == 1);
  CHECK(value(p, "Y") == "Y.1[j]");
  CHECK(rank(p, "Y") == 2);
  const auto whole = parsed("matmul M=5 N=6 K=7");
  CHECK(whole.program.stages.size() == 1);
}

TEST_CASE("invariants: equal terms are combined once") {
  const auto p = parsed(
      "op f(A: f32[N], B: i32[N], C: f32[K]) -> (X: f32[N], Y: i32[N], Z: f32[N]) { "
      "X[i] = max[k in 0..K](A[i]); Y[i] = sum[k in 0..K](B[i]); "
      "Z[i] = sum[k in 2..K,j](A[i] * A[j]) + C[0] } N=5 K=9");
  CHECK(value(p, "X") == "A[i]");
  CHECK(value(p, "Y") == "B[i]*9");
  CHECK(p.program.stage("X")->reduce == ir::Reduce::kNone);
  CHECK(p.program.stage("Z.1")->rvars.size() == 1);
  CHECK(value(p, "Z.1") == "A[i]*A[j]*7.0");
}

TEST_CASE("invariants: what may be empty is chosen by that, or stays as it is written") {
  const auto p = parsed(
      "op f(A: f32[N], C: f32[K]) -> (Y: f32[M]) { t[j in 0..K] = A[K-1]; u[j in 0..K] = A[3]; "
      "Y[i] = max[k in 0..K](A[K-1]) + sum[j](t[j] * u[j] * C[j]) } M=3 N=4 K=0..4");
  CHECK(rank(p, "t") == 1);
  CHECK(rank(p, "u") == 0);
  CHECK(p.program.stage("Y.1")->rvars.size() == 1);
  // What is read is there, whether the range has values or not.
  const auto there = parsed(
      "op f(A: f32[N], B: i32[N]) -> (Y: f32[N], Z: f32[N]) { Y[i] = sum[k in 0..i](A[i]); "
      "t[i in 0..N,j in 0..9] = A[i]; Z[i] = max[k in 0..B[i]](t[i,k]) } N=4");
  CHECK(value(there, "Y") == "select(0 < i,A[i]*cast<f32>(i) + 0.0,0.0)");
  CHECK(there.program.stage("Z")->reduce == ir::Reduce::kNone);
  CHECK(there.program.stage("Y")->rvars.empty());
  // Ends that follow an index are known by its range.
  const auto triangle =
      parsed("op f(A: bool[N]) -> (Y: bool[N]) { Y[i] = any[k in 0..i+1](A[i]) } N=4");
  CHECK(value(triangle, "Y") == "A[i]");
  const auto sure = parsed(
      "op f(A: f32[N], C: f32[K]) -> (Y: f32[M]) { t[j in 0..K] = A[0] else 3; "
      "Y[i] = max[k in 0..K](A[0] else 1) + sum[j](t[j] * C[j]) } M=3 N=4 K=1..9");
  CHECK(rank(sure, "t") == 0);
  CHECK(sure.program.stage("Y.1")->rvars.empty());
}

TEST_CASE("invariants: what outer loops would repeat is a stage where it is dear") {
  const auto p = parsed(
      "op f(A: f32[M,N], B: f32[N], C: f32[M]) -> (Y: f32[M,N]) { "
      "Y[i,j] = A[i,j] * exp(B[j]) + A[i,j] / exp(B[j]) + tanh(C[i]) + 2*B[j] } M=50 N=60");
  CHECK(value(p, "Y.1") == "exp(B[j])");
  CHECK(rank(p, "Y.1") == 1);
  CHECK(value(p, "Y") == "A[i,j]*Y.1[j] + A[i,j]/Y.1[j] + tanh(C[i]) + 2.0*B[j]");
  // Rows of another order are gathered once.
  const auto transposed =
      parsed("op f(A: f32[N,M]) -> (Y: f32[K,M,N]) { Y[k,i,j] = A[j,i] } K=9 M=5 N=6");
  CHECK(value(transposed, "Y.1") == "A[j,i]");
  CHECK(rank(transposed, "Y.1") == 2);
  const auto stored =
      parsed("op f(A: f32[N,M]) -> (Y: f32[K,M,N]) { Y[k,i,j] = A[j,i] } K=9 M=5 N=6 A@M,N");
  CHECK(stored.program.stages.size() == 1);
}

TEST_CASE("invariants: a product of equal factors is a power, where floats are") {
  const std::string start = "op f(A: T[M,N]) -> (Y: T[M]) { Y[i] = prod[j in 0..N,k in 0..";
  const auto p = parsed("op f<T=f32>" + start.substr(4) + "9](A[i,j]) } M=50 N=60");
  CHECK(value(p, "Y") == "pow(A[i,j],9.0)");
  CHECK(p.program.stage("Y")->rvars.size() == 1);
  CHECK(parsed("op f<T=i32>" + start.substr(4) + "9](A[i,j]) } M=50 N=60")
            .program.stage("Y")
            ->rvars.size() == 2);
}

TEST_CASE("invariants: what follows no index is one value, where it is dear") {
  const auto p = parsed(
      "op f(A: f32[M,N], B: f32[1], s: f32) -> (Y: f32[M,N]) { "
      "Y[i,j] = A[i,j] * cbrt(s + B[0]) + 2*B[0] } M=50 N=60");
  CHECK(value(p, "Y.1") == "cbrt(s + B[0])");
  CHECK(rank(p, "Y.1") == 0);
  CHECK(value(p, "Y") == "A[i,j]*Y.1[] + 2.0*B[0]");
}

TEST_CASE("invariants: loops stand as results lie in memory") {
  const std::string text = "op f(B: f32[M]) -> (Y: f32[M,N]) { Y[i,j] = exp(B[i]) } M=500 N=600 ";
  CHECK(parsed(text).program.stages.size() == 1);
  const auto turned = parsed(text + "Y@N,M");
  CHECK(value(turned, "Y.1") == "exp(B[i])");
  CHECK(value(turned, "Y") == "Y.1[i]");
}

TEST_CASE("invariants: what is dear in front of each short row is a stage, but for statistics") {
  const std::string text =
      "op f(X: f32[M,N], C: f32[M]) -> (Y: f32[M,N]) { Y[i,j] = X[i,j] * tanh(C[i]) } M=500 N=";
  CHECK(value(parsed(text + "20"), "Y.1") == "tanh(C[i])");
  CHECK(parsed(text + "200").program.stages.size() == 1);
  CHECK(parsed(text + "2").program.stages.size() == 1);
  const auto statistics = parsed(
      "op f(X: f32[M,N]) -> (Y: f32[M,N]) { s[i] = sum[j](X[i,j]); Y[i,j] = X[i,j] - log(s[i]) } "
      "M=500 N=20");
  CHECK(statistics.program.stages.size() == 2);
}

TEST_CASE("invariants: terms that find their element share what is the same for all") {
  const std::string op = "(Y: f32[M,N]) { Y[i,B[k]] += tanh(exp(";
  const auto shared =
      parsed("op f(A: f32[M], B: i32[K]) -> " + op + "A[i])) for k } M=40 N=50 K=60");
  CHECK(value(shared, "Y.1") == "tanh(exp(A[i]))");
  CHECK(rank(shared, "Y.1") == 1);
  const auto apart = parsed("op f(A: f32[M], B: i32[K], V: f32[K]) -> " + op +
                            "A[i] + V[k])) for k } M=40 N=50 K=60");
  CHECK(apart.program.stages.size() == 1);
  // Where a condition keeps a read inside, nothing may be read without it.
  const std::string held =
      "op f(A: f32[L], B: i32[K]) -> (Y: f32[M,N]) { "
      "Y[i in 0..M,B[k]] += tanh(exp(A[i])) for k where i + k < 30 } M=40 N=50 K=60 ";
  CHECK(parsed(held + "L=30").program.stages.size() == 1);
  CHECK(parsed(held + "L=40").program.stages.size() == 2);
}

TEST_CASE("invariants: windows and few repeats are left in place") {
  const std::string start = "op f(X: f32[H+2,K], W: f32[N,3,K]) -> (Y: f32[N,H]) { Y[n,h] = ";
  const auto window =
      parsed(start + "sum[r in 0..3,k](W[n,r,k] * tanh(exp(X[h+r,k]))) } N=64 H=100 K=5");
  CHECK(window.program.stages.size() == 1);
  const auto plain =
      parsed(start + "sum[r in 0..3,k](W[n,r,k] * tanh(exp(X[h,k]))) } N=64 H=100 K=5");
  CHECK(value(plain, "Y.1") == "tanh(exp(X[h,k]))");
  const char* rows = "op f(B: f32[N]) -> (Y: f32[M,N]) { Y[i,j] = exp(B[j]) } N=60 ";
  CHECK(parsed(std::string(rows) + "M=3").program.stages.size() == 1);
  CHECK(parsed(std::string(rows) + "M=4").program.stages.size() == 2);
  CHECK(parsed(std::string(rows) + "M=0..9").program.stages.size() == 2);
  const char* last = "op f(B: f32[M], C: f32[N]) -> (Y: f32[M,N]) { Y[i,j] = exp(B[M-1] + C[j]) } ";
  CHECK(parsed(std::string(last) + "N=60 M=4").program.stages.size() == 2);
  CHECK(parsed(std::string(last) + "N=60 M=0..9").program.stages.size() == 1);
}
