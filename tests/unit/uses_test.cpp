// SPDX-License-Identifier: Apache-2.0
// Ops that use ops: their statements stand in the place of the use.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <cmath>
#include <string>
#include <vector>

#include "include/hone/hone.h"
#include "ops/definition.h"
#include "ops/gradient/gradient.h"
#include "ops/op.h"
#include "ops/random.h"

using hone::ops::Op;
using hone::ops::parse_library;
using hone::ops::parse_problem;

namespace {

std::string canonical(const std::string& text) {
  const auto op = Op::parse(text);
  REQUIRE_MESSAGE(op, (op ? "" : op.failure().message));
  return op->text();
}

/// The statements of an op.
std::string body(const std::string& text) {
  const std::string all = canonical(text);
  const size_t begin = all.find(" { ") + 3;
  return all.substr(begin, all.size() - begin - 2);
}

}  // namespace

TEST_CASE("uses: the statements of the op stand there, named after what is made") {
  CHECK(body("op f(X: f32[A,B]) -> (Y: f32[A,B]) { Y[a,b] = softmax(X) }") ==
        "Y_m[a] = max[b](X[a,b]); Y_e[a,b] = exp(X[a,b] - Y_m[a]); Y_s[a] = sum[b](Y_e[a,b]); "
        "Y[a,b] = Y_e[a,b]/Y_s[a]");
  const std::string used = canonical("op f(X: f32[A,B]) -> (Y: f32[A,B]) { Y[a,b] = softmax(X) }");
  CHECK(canonical(used) == used);
}

TEST_CASE("uses: dims before those of the op repeat it") {
  CHECK(body("op f<T=f32>(S: T[B,H,M,N]) -> (P: T[B,H,M,N]) { P[b,h,i,j] = log_softmax(S) }") ==
        "P_m[b,h,i] = max[j](S[b,h,i,j]); P_s[b,h,i] = log(sum[j](exp(S[b,h,i,j] - "
        "P_m[b,h,i]))); P[b,h,i,j] = S[b,h,i,j] - P_m[b,h,i] - P_s[b,h,i]");
  // What has no such dims serves all of them.
  CHECK(body("op f(X: f32[B,M,K], W: f32[K,N]) -> (Y: f32[B,M,N]) { Y[b,m,n] = matmul(X, W) }") ==
        "Y[b,m,n] = sum[k](X[b,m,k]*W[k,n])");
  CHECK(body("op own(W: f32[N], X: f32[N]) -> (Y: f32[N]) { q[i] = exp(W[i]); Y[i] = q[i]*X[i] }\n"
             "op f(W: f32[N], X: f32[B,N]) -> (Y: f32[B,N]) { Y[b,i] = own(W, X) }") ==
        "Y_q[i] = exp(W[i]); Y[b,i] = Y_q[i]*X[b,i]");
  // A scalar may differ along them.
  CHECK(body("op f(X: f32[B,M,N], t: f32[B]) -> (Y: f32[B,M,N]) { Y[b,i,j] = scale(X, t[b], 0) }")
            .find("t[b]") != std::string::npos);
}

TEST_CASE("uses: extents, ranges and dtypes come from the arguments") {
  CHECK(body("op mean(X: f32[M,N]) -> (Y: f32[M]) { Y[i] = sum[j](X[i,j]) / N }\n"
             "op f(X: f32[A,2*B+1]) -> (Z: f32[A]) { t[i] = mean(X); Z[i] = t[i] }") ==
        "t: f32[i] = sum[j](X[i,j])/(2*B + 1); Z[i] = t[i]");
  // Of an intermediate by its statement; of what is made, by what the op declares.
  const std::string pooled =
      "op win<S=1>(X: f32[L]) -> (Y: f32[(L-3)/S+1]) { Y[i] = max[r in 0..3](X[S*i+r]) }\n"
      "op f(X: f32[L]) -> (Z: f32[]) { d[i] = 2*X[i]; t[k] = win<S=2>(d); Z[] = sum[k](t[k]) }";
  CHECK(body(pooled) ==
        "d[i] = 2*X[i]; t: f32[k in 0..(L - 3)/2 + 1] = max[r in 0..3](d[2*k + r]); "
        "Z[] = sum[k](t[k])");
  // A dim of the result alone, by its range; one in a sum.
  CHECK(body("op f(V: f32[N,D], ids: i64[N]) -> (Z: f32[D]) { t[r in 0..9,d] = "
             "scatter_add_rows(V, ids); Z[d] = max[r](t[r,d]) }") ==
        "t: f32[ids[n] in 0..9,d] += V[n,d]; Z[d] = max[r](t[r,d])");
  CHECK(body("op f(E: f32[R,D], ids: i64[L], offs: i64[C]) -> (Y: f32[C-1,D]) { Y[b,d] = "
             "embedding_bag(E, ids, offs) }")
            .find("offs[b + 1]") != std::string::npos);
  CHECK(canonical("op f<U=bf16>(X: U[M,N], g: U[N], b: U[N]) -> (Y: U[M,N]) { Y[i,j] = "
                  "layernorm(X, g, b, 1e-5) }")
            .find("cast<U>(1e-05)") != std::string::npos);
  // What is computed states no type, and fits.
  CHECK(body("op f<T=bf16>(X: T[M,N]) -> (Y: T[M,N]) { s[i,j] = 2*X[i,j]; p[i,j] = softmax(s); "
             "Y[i,j] = p[i,j] }")
            .find("; p[i,j] = p_e[i,j]/p_s[i]") != std::string::npos);
}

TEST_CASE("uses: an op of several results") {
  const std::string both =
      "op both(X: f32[M,N]) -> (A: f32[M], B: f32[N]) { q[i,j] = X[i,j]*X[i,j]; "
      "A[i] = sum[j](q[i,j]); B[j] = max[i](X[i,j]) }\n";
  CHECK(body(both + "op f(X: f32[M,N]) -> (Y: f32[M], Z: f32[N]) { Y[m], Z[n] = both(X) }") ==
        "Y_q[m,n] = X[m,n]*X[m,n]; Y[m] = sum[n](Y_q[m,n]); Z[n] = max[m](X[m,n])");
  // Each may have the index that the other reduces over.
  CHECK(body(both + "op f(X: f32[K,M,N]) -> (Y: f32[K,M], Z: f32[N]) { "
                    "a[k,i], b[k,i] = both(X); Y[k,i] = a[k,i]; Z[j] = sum[k](b[k,j]) }") ==
        "a_q[k,i,j] = X[k,i,j]*X[k,i,j]; a: f32[k,i] = sum[j](a_q[k,i,j]); "
        "b: f32[k,i] = max[i2](X[k,i2,i]); Y[k,i] = a[k,i]; Z[j] = sum[k](b[k,j])");
  // What is left out is not computed, nor what serves it alone.
  CHECK(body(both + "op f(X: f32[M,N]) -> (Z: f32[N]) { _, Z[n] = both(X) }") ==
        "Z[n] = max[i](X[i,n])");
  // But where another result reads it.
  CHECK(body("op two(X: f32[N]) -> (A: f32[N], B: f32[]) { A[i] = X[i]*X[i]; B[] = sum[i](A[i]) }\n"
             "op f(X: f32[K,N]) -> (Z: f32[K]) { _, Z[k] = two(X) }") ==
        "Z_A: f32[k,i] = X[k,i]*X[k,i]; Z[k] = sum[i](Z_A[k,i])");
  CHECK(body("op f(X: f32[M,N]) -> (Y: f32[M]) { v[i,k in 0..2], p[i,k] = topk_rows(X); "
             "Y[i] = v[i,1] + X[i,p[i,0]] else 0 }")
            .find("p: i64[i in 0..M,k] = v_q[i,k]") != std::string::npos);
  const auto op = Op::parse(both +
                            "op f(X: f32[M,N]) -> (Z: f32[M,N]) { a[i], b[j] = both(X); "
                            "Z[i,j] = a[i]*b[j] }");
  REQUIRE(op);
  CHECK(hone::ops::gradient(*op, {{"X"}, {}}));
}

TEST_CASE("uses: names give way to names, scalars keep their type") {
  CHECK(body("op own(X: f32[N], a: f32) -> (Y: f32[N]) { m[i] = a/2*X[i]; Y[i] = sum[j in "
             "0..2](m[i]) }\n"
             "op f(X: f32[N], Y_m: f32[N]) -> (Y: f32[N]) { t[j] = own(X, 1); Y[x] = "
             "own(t, Y_m[0]) }") ==
        "t_m[j] = 1.0/2*X[j]; t: f32[j] = sum[j2 in 0..2](t_m[j]); Y_m2[x] = Y_m[0]/2*t[x]; "
        "Y[x] = sum[j in 0..2](Y_m2[x])");
}

TEST_CASE("uses: recurrences, uses of uses, gradients") {
  CHECK(body("op f(X: f32[B,M,N]) -> (Y: f32[B,M,N]) { c[b,i,j] = row_cumsum(X); Y[b,i,j] = "
             "row_cumsum(c) }") ==
        "c: f32[b,i,j] = X[b,i,j] + (c[b,i,j - 1] else 0); "
        "Y[b,i,j] = c[b,i,j] + (Y[b,i,j - 1] else 0)");
  CHECK(body("op a(X: f32[N]) -> (Y: f32[N]) { m[i] = X[i]*X[i]; Y[i] = m[i] + m[i] }\n"
             "op b(X: f32[N]) -> (Y: f32[N]) { t[i] = a(X); Y[i] = a(t) }\n"
             "op c(X: f32[N]) -> (Y: f32[N]) { Y[k] = b(X) }") ==
        "Y_t_m[k] = X[k]*X[k]; Y_t: f32[k] = Y_t_m[k] + Y_t_m[k]; Y_Y_m[k] = Y_t[k]*Y_t[k]; "
        "Y[k] = Y_Y_m[k] + Y_Y_m[k]");
  const auto op = Op::parse("op f(X: f32[M,N]) -> (Y: f32[M,N]) { Y[i,j] = softmax(X) }");
  REQUIRE(op);
  CHECK(hone::ops::gradient(*op, {{"X"}, {}}));
}

TEST_CASE("uses: in files and problems; ops of a text before those of the library") {
  const std::string twice = "op softmax(X: f32[N]) -> (Y: f32[N]) { Y[i] = 2*X[i] }\n";
  const std::string user = "op f(X: f32[N]) -> (Y: f32[N]) { Y[i] = softmax(X) }";
  CHECK(body(twice + user) == "Y[i] = 2*X[i]");
  const auto problem = parse_problem(twice + user + " N=3");
  REQUIRE(problem);
  CHECK(problem->text == "op f(X: f32[N]) -> (Y: f32[N]) { Y[i] = 2*X[i] } N=3");
  const auto library = parse_library(twice, "mine.hone");
  REQUIRE(library);
  const auto other = parse_library(user + "\ncase small f N=3\n", "mine.hone", &*library);
  REQUIRE(other);
  CHECK(other->ops[0].text().find("2*X[i]") != std::string::npos);
  CHECK(parse_problem(user + " N=3", &*library));
  CHECK_FALSE(parse_library(user + "\n" + twice, "mine.hone"));
}

TEST_CASE("uses: attention by softmax is attention") {
  hone::Engine engine({.cache = ":memory:"});
  const hone::Kernel kernel = engine.compile(
      "op f(S: f32[B,M,N], V: f32[B,N]) -> (Y: f32[B,M]) { P[b,i,j] = softmax(S); Y[b,i] = "
      "sum[j](P[b,i,j]*V[b,j]) } B=2 M=2 N=3");
  const std::vector<float> s = {0, 1, 2, 3, 2, 1, 0, 0, 0, 5, 4, 3}, v = {1, 2, 3, 4, 5, 6};
  std::vector<float> y(4);
  kernel(hone::TensorRef(s.data(), {2, 2, 3}), hone::TensorRef(v.data(), {2, 3}),
         hone::TensorRef(y.data(), {2, 2}));
  for (size_t b = 0; b < 2; ++b) {
    for (size_t i = 0; i < 2; ++i) {
      double above = 0, below = 0;
      for (size_t j = 0; j < 3; ++j) {
        const double e = std::exp(static_cast<double>(s[6 * b + 3 * i + j]));
        above += e * v[3 * b + j];
        below += e;
      }
      CHECK(y[2 * b + i] == doctest::Approx(above / below));
    }
  }
}
