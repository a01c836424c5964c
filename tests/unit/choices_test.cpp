// SPDX-License-Identifier: Apache-2.0
// Conditions of `where` that read data: choices.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <string>

#include "ops/gradient/gradient.h"
#include "ops/op.h"

using hone::ops::Op;

namespace {

/// The statements of an op, or what is wrong with it.
std::string body(const std::string& text) {
  const auto op = Op::parse(text);
  if (!op) return op.failure().message;
  const std::string all = op->text();
  const size_t begin = all.find(" { ") + 3;
  return all.substr(begin, all.size() - begin - 2);
}

/// Of an op with a sequence X, its lengths and a first state.
std::string frozen(const std::string& statements) {
  return body("op f(X: f32[L,B], len: i64[B], h0: f32[B]) -> (h: f32[L,B]) { " + statements + " }");
}

}  // namespace

TEST_CASE("choices: a condition of data is a choice") {
  CHECK(
      body("op f(X: f32[N], m: bool[N]) -> (Y: f32[N]) { Y[i] = 2*X[i] where m[i] else -X[i] }") ==
      "Y[i] = select(m[i],2*X[i],-X[i])");
  CHECK(body("op f(X: f32[N], n: i64) -> (Y: f32[N]) { Y[i] = X[i] where i < n else 0 }") ==
        "Y[i] = select(i < n,X[i],0)");
  // The `else` behind a read is the one of `where`, but for one in parentheses.
  CHECK(body("op f(X: f32[N], n: i64[N]) -> (Y: f32[N]) { Y[i] = X[i] where i < n[i] else 0 }") ==
        "Y[i] = select(i < n[i],X[i],0)");
  CHECK(body("op f(X: f32[N], n: i64[N]) -> (Y: f32[N]) { "
             "Y[i] = X[i] where i < (n[i+1] else 3) else 0 }") ==
        "Y[i] = select(i < (n[i + 1] else 3),X[i],0)");
  // One of indices and dims is none.
  CHECK(body("op f(X: f32[N]) -> (Y: f32[N]) { Y[i] = X[i] where i < 3 else 0 }") ==
        "Y[i] = X[i] where i < 3 else 0");
}

TEST_CASE("choices: an inout keeps its old value") {
  CHECK(body("op f(V: f32[N], m: bool[N], inout C: f32[N]) { C[i] = V[i] where m[i] }") ==
        "C[i] = select(m[i],V[i],C[i])");
  CHECK(body("op f(V: f32[N], m: bool[N], inout C: f32[N]) { C[i] += V[i] where m[i] }") ==
        "C[i] = select(m[i],C[i] + V[i],C[i])");
  CHECK(body("op f(V: f32[N], m: bool[N], inout C: f32[N]) { C[i] max= V[i] where m[i] else 0 }") ==
        "C[i] = select(m[i],max(C[i],V[i]),0)");
}

TEST_CASE("choices: a recurrence keeps its state") {
  CHECK(frozen("h[t,b] = 0.5*(h[t-1,b] else h0[b]) + X[t,b] where t < len[b]") ==
        "h[t,b] = select(t < len[b],0.5*(h[t - 1,b] else h0[b]) + X[t,b],h[t - 1,b] else h0[b])");
  CHECK(frozen("h[t,b] = 0.5*(h[t+1,b] else h0[b]) + X[t,b] where t < len[b]") ==
        "h[t,b] = select(t < len[b],0.5*(h[t + 1,b] else h0[b]) + X[t,b],h[t + 1,b] else h0[b])");
  // What is read of it elsewhere says it as well, in the indices of the statement.
  CHECK(
      frozen(
          "s: f32[t,b] = sum[k](h[t-1,k] else h0[k]); h[t,b] = s[t,b] + X[t,b] where t < len[b]") ==
      "s: f32[t,b] = sum[k](h[t - 1,k] else h0[k]); "
      "h[t,b] = select(t < len[b],s[t,b] + X[t,b],h[t - 1,b] else h0[b])");
  // Two steps back is not where it was.
  CHECK(frozen("h[t,b] = (h[t-1,b] else h0[b]) + (h[t-2,b] else 1) where t < len[b] && X[t,b] > 0")
            .ends_with(",h[t - 1,b] else h0[b])"));
  const auto op = Op::parse(
      "op f(X: f32[L,B], len: i64[B]) -> (h: f32[L,B]) { "
      "h[t,b] = (h[t-1,b] else 0)*X[t,b] where t < len[b] }");
  REQUIRE(op);
  CHECK(hone::ops::gradient(*op, {{"X"}, {}}));
}

TEST_CASE("choices: where nothing says what stands elsewhere, the text does") {
  const auto told = [](const std::string& text) {
    return text.find("where ... else 0") != text.npos;
  };
  CHECK(told(body("op f(X: f32[N]) -> (Y: f32[N]) { Y[i] = X[i] where X[i] > 0 }")));
  CHECK(told(body("op f(X: f32[N]) -> (Y: f32[N]) { q[i] = X[i] where X[i] > 0; Y[i] = q[i] }")));
  // Its state of one step or of the other.
  const std::string both = body(
      "op f(X: f32[M,N]) -> (Y: f32[M,N]) { "
      "Y[i,j] = (Y[i-1,j] else 0) + (Y[i,j-1] else 1) where X[i,j] > 0 }");
  CHECK(both.find("`Y[i - 1,j] else 0` or `Y[i,j - 1] else 1`") != both.npos);
  // A first state in another index than one of the read.
  CHECK(
      told(body("op f(X: f32[L,B], g: f32[B]) -> (h: f32[L,B]) { "
                "s: f32[t,b] = sum[k]((h[t-1,k] else g[b])); h[t,b] = s[t,b] where X[t,b] > 0 }")));
}
