// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <algorithm>
#include <string>

#include "ops/op.h"
#include "ops/stock.h"
#include "ops/syntax.h"

namespace {

using hone::ops::make_problem;
using hone::ops::Op;
using hone::ops::parse_problem;
using hone::ops::stock_library;

/// The lines of a problem's program that begin with `start`, or the error.
std::string lines(const std::string& problem, const std::string& start) {
  const auto p = parse_problem(problem);
  if (!p) return p.failure().message;
  const std::string text = print(p->program);
  std::string out;
  for (size_t at = 0; at < text.size();) {
    const size_t end = text.find('\n', at);
    const std::string line = text.substr(at, end - at);
    if (line.starts_with(start)) out += (out.empty() ? "" : "\n") + line;
    at = end + 1;
  }
  return out;
}

std::string stage(const std::string& problem, const std::string& name) {
  return lines(problem, "stage " + name + ":");
}

std::string canonical(const std::string& problem) {
  const auto p = parse_problem(problem);
  return p ? p->text : p.failure().message;
}

}  // namespace

TEST_CASE("ops: a statement becomes a stage, a reduction inside it one of its own") {
  CHECK(stage("matmul M=4 N=8 K=2", "C") == "stage C: C[m,n] = sum[k in 0..2: f32](A[m,k]*B[k,n])");
  CHECK(stage("fc_gelu M=4 N=8 K=2 T=bf16", "Y.1") ==
        "stage Y.1: Y.1[m,n] = sum[k in 0..2: f32](cast<f32>(A[m,k])*cast<f32>(W[k,n]))");
  CHECK(stage("fc_gelu M=4 N=8 K=2 T=bf16", "Y") ==
        "stage Y: Y[m,n] = cast<bf16>(gelu(Y.1[m,n] + cast<f32>(b[n])))");
  CHECK(stage("softmax M=4 N=8", "s") == "stage s: s[i] = sum[j in 0..8: f32](e[i,j])");
}

TEST_CASE("ops: nested reductions depend on what they mention only") {
  const std::string op =
      "op f(A: f32[M,K], x: f32[K]) -> (Y: f32[M]) { Y[m] = sum[k](A[m,k] * max[j](x[j])) / "
      "sum[j](x[j]) } M=3 K=4";
  CHECK(lines(op, "stage") ==
        "stage Y.2: Y.2[] = max[j in 0..4: f32](x[j])\n"
        "stage Y.1: Y.1[m] = sum[k in 0..4: f32](A[m,k]*Y.2[])\n"
        "stage Y.3: Y.3[] = sum[j in 0..4: f32](x[j])\n"
        "stage Y: Y[m] = Y.1[m]/Y.3[]");
}

TEST_CASE("ops: what constants decide is decided") {
  const auto value = [](const char* types, const char* statement) {
    return stage(
        "op f(A: " + std::string(types) + "[N]) -> (Y: bool[N]) { Y[i] = " + statement + " } N=4",
        "Y");
  };
  CHECK(value("bool", "A[i] != cast<bool>(0.25)") == "stage Y: Y[i] = !A[i]");
  CHECK(value("bool", "A[i] == cast<bool>(1)") == "stage Y: Y[i] = A[i]");
  CHECK(value("bool", "cast<bool>(0) != A[i]") == "stage Y: Y[i] = A[i]");
  CHECK(value("bool", "A[i] && 0.5 < cast<f32>(1)") == "stage Y: Y[i] = A[i]");
  CHECK(value("bool", "A[i] && cast<f32>(16777217) == cast<f32>(16777216)") ==
        "stage Y: Y[i] = A[i]");
  CHECK(value("i32", "A[i] < A[i] || i == i") == "stage Y: Y[i] = true");
  CHECK(value("f32", "A[i] == A[i]") == "stage Y: Y[i] = A[i] == A[i]");  // not of NaN
}

TEST_CASE("ops: types of storage and of arithmetic") {
  const auto value = [](const char* types, const char* statement) {
    return stage("op f(A: " + std::string(types) + "[N]) -> (Y: " + types +
                     "[N]) { Y[i] = " + statement + " } N=4",
                 "Y");
  };
  CHECK(value("f16", "A[i]") == "stage Y: Y[i] = A[i]");
  CHECK(value("bf16", "A[i] + 1") == "stage Y: Y[i] = cast<bf16>(cast<f32>(A[i]) + 1.0)");
  CHECK(value("i8", "A[i] + A[i]") ==
        "stage Y: Y[i] = cast<i8>(cast<i32>(A[i]) + cast<i32>(A[i]))");
  CHECK(value("bool", "A[i] + A[i]") == "stage Y: Y[i] = cast<i32>(A[i]) + cast<i32>(A[i]) != 0");
  CHECK(value("bool", "A[i] && !A[i] || A[i] == A[0]") ==
        "stage Y: Y[i] = A[i] && !A[i] || A[i] == A[0]");
  CHECK(value("f64", "A[i] / N * (1/2) + 0.1") == "stage Y: Y[i] = A[i]/4.0*0.0 + 0.1");
  CHECK(value("f32", "cast<f32>(cast<f64>(A[i]) * 0.1)") ==
        "stage Y: Y[i] = cast<f32>(cast<f64>(A[i])*0.1)");
  CHECK(value("f32", "cast<f32>(i) + cast<f32>(A[i] > 2)") ==
        "stage Y: Y[i] = cast<f32>(i) + cast<f32>(2.0 < A[i])");
  CHECK(stage("op f(A: f16[N]) -> (Y: f16[]) { Y[] = sum[i: f64](A[i]) } N=4", "Y") ==
        "stage Y: Y[] = cast<f16>(cast<f32>(Y.1[]))");
  CHECK(stage("op f(A: u8[N]) -> (Y: i32[]) { Y[] = sum[i](A[i]) } N=4", "Y") ==
        "stage Y: Y[] = sum[i in 0..4: i32](cast<i32>(A[i]))");
}

TEST_CASE("ops: argmax is a maximum and the least index that has it, a NaN first") {
  CHECK(lines("row_argmax M=5 N=7", "stage") ==
        "stage Y.1: Y.1[i] = max[j in 0..7: f32](X[i,j])\n"
        "stage Y.2: Y.2[i] = min[j in 0..7: i32](select(X[i,j] == Y.1[i] || X[i,j] != "
        "X[i,j],cast<i32>(j),2147483647))\n"
        "stage Y: Y[i] = cast<i64>(Y.2[i])");
  CHECK(
      lines("op f(X: i32[M,N]) -> (Y: i64[]) { Y[] = argmin[i,j](X[i,j]) + 0 } M=2 N=3", "stage") ==
      "stage Y.1: Y.1[] = min[i in 0..2, j in 0..3: i32](X[i,j])\n"
      "stage Y.2: Y.2[] = min[i in 0..2, j in 0..3: i32](select(X[i,j] == Y.1[],cast<i32>(i*3 + "
      "j),2147483647))\n"
      "stage Y: Y[] = cast<i64>(Y.2[])");
}

TEST_CASE("ops: positions of an argmax that may be none or many are kept in 64 bits") {
  for (const char* bindings : {"N=0..4", "N=3000000000"}) {
    const std::string text = lines(
        std::string("op f(X: i8[N]) -> (Y: i64[]) { Y[] = argmax[i](X[i]) } ") + bindings, "stage");
    CHECK(text.find("min[i in 0..N: i32]") == text.npos);
    CHECK(text.find(": i64](select(") != text.npos);
  }
}

TEST_CASE("ops: maxima of narrow integers accumulate as they are stored where there is a term") {
  CHECK(lines("op f(X: u8[N]) -> (Y: u8[M]) { Y[i in 0..M] = max[r in 0..3](X[i+r] else 7) } N=6 "
              "M=6",
              "stage") == "stage Y: Y[i] = max[r in 0..3: u8](X[i + r] else 7)");
  CHECK(lines("op f(X: i16[N]) -> (Y: i32[]) { Y[] = max[i](X[i]) - min[i](X[i]) } N=6", "stage") ==
        "stage Y.1: Y.1[] = max[i in 0..6: i16](X[i])\n"
        "stage Y.2: Y.2[] = min[i in 0..6: i16](X[i])\n"
        "stage Y: Y[] = cast<i32>(Y.1[]) - cast<i32>(Y.2[])");
  // Of no terms the largest is the least i32; 300 is no u8; a sum leaves its type.
  for (const char* text : {"op f(X: u8[N]) -> (Y: i32[]) { Y[] = 0 + max[i](X[i]) } N=0..6",
                           "op f(X: u8[N]) -> (Y: i32[]) { Y[] = 0 + max[i](max(X[i], 300)) } N=6",
                           "op f(X: u8[N]) -> (Y: i32[]) { Y[] = 0 + max[i](X[i] + 1) } N=6",
                           "op f(X: u8[N], n: i32[M]) -> (Y: i32[M]) { Y[m] = 0 + max[i in "
                           "0..n[m]](X[i]) } N=6 M=2"}) {
    const std::string got = lines(text, "stage");
    CHECK_MESSAGE(got.find(": i32](") != got.npos, got);
  }
}

TEST_CASE("ops: where is inherited by reductions and intermediates") {
  const std::string text = lines("causal_attention B=1 H=1 S=4 D=2", "stage");
  CHECK(text.find("stage s: s[b,h,i,j] = s.1[b,h,i,j]*scale where j <= i\n") != text.npos);
  CHECK(text.find("stage m: m[b,h,i] = max[j in 0..4: f32](s[b,h,i,j]) where j <= i\n") !=
        text.npos);
  CHECK(text.find("stage O: O[b,h,i,d] = O.1[b,h,i,d]/O.2[b,h,i]") != text.npos);
  // A reader that chooses by the same condition needs the tensor everywhere, garbage included.
  CHECK(lines("op f(X: f32[N]) -> (Y: f32[N]) { s[i in 0..N] = X[i-1] where i >= 1; Y[i] = s[i] "
              "where i >= "
              "1 else 0 } N=4",
              "stage") ==
        "stage s: s[i] = X[i - 1] else 0.0\n"
        "stage Y: Y[i] = select(1 <= i,s[i],0.0)");
  CHECK(stage("op f(X: f32[N]) -> (Y: f32[N]) { s[i] = X[i] where i >= 1; Y[i] = s[i-1] else 7 } "
              "N=4",
              "Y") == "stage Y: Y[i] = select(1 <= i - 1,s[i - 1] else 7.0,7.0)");
}

TEST_CASE("ops: reads of data are checked before anything runs") {
  CHECK(lines("embedding_bag R=20 D=17 L=30 B=6", "check") ==
        "check 0 <= offs[b] <= 30 at offs[b] for b in 0..6\n"
        "check offs[b] <= offs[b + 1] <= 30 at offs[b + 1] for b in 0..6\n"
        "check 0 <= ids[j] <= 19 at ids[j] for j in 0..30");
  CHECK(lines("gather_rows_or_zero R=10 D=4 N=3", "check").empty());
  CHECK(
      lines("op f(T: f32[R], p: i32[M,N]) -> (Y: f32[M,N]) { Y[i,j] = T[p[i,j] + 1] } R=5 M=2 N=3",
            "check") ==
      "check 0 <= cast<i64>(p[i,j]) + 1 <= 4 at p[i*3 + j] for i in 0..2 for j "
      "in 0..3");
}

TEST_CASE("ops: inout reads the old value where it writes") {
  CHECK(stage("matmul_acc M=3 N=4 K=2", "C") == "stage C: C[m,n] = C[m,n] + C.1[m,n]");
  CHECK(stage("op f(inout X: f32[N]) { X[i] += 1 where i >= 2 } N=4", "X") ==
        "stage X: X[i] = select(2 <= i,X[i] + 1.0,X[i])");
}

TEST_CASE("ops: dims known at the call stay in the program") {
  CHECK(lines("conv2d N=1 C=3 H=11..20 at 16,11 W=13 O=8 R=3 Q=3 S=2 P=1", "output") ==
        "output Y: f32[1,8,(H - 1)/2 + 1,7]");
  CHECK(stage("row_mean M=1..9 N=4..8", "Y") == "stage Y: Y[i] = Y.1[i]/cast<f32>(N)");
  CHECK(lines("reverse N=0..8", "stage") == "stage Y: Y[i] = X[N - 1 - i]");
}

TEST_CASE("problems: canonical text") {
  CHECK(canonical("fc_gelu const=W K=768 N=3072   M=128") == "fc_gelu M=128 K=768 N=3072 const=W");
  CHECK(canonical("fc_gelu align=64 cold=W,A const=W K=7 N=3 cold=W M=1") ==
        "fc_gelu M=1 K=7 N=3 const=W cold=A,W align=64");
  CHECK(canonical("matmul_acc M=1 N=2 K=3 cold=C") == "matmul_acc M=1 K=3 N=2 cold=C");
  CHECK(canonical("matmul M=1..512 at 64,1,64 N=4 K=4..4 T=f32") ==
        "matmul M=1..512 at 1,64 K=4 N=4");
  CHECK(canonical("matmul M=4 N=5 K=6 A@M,K B@N,K") == "matmul M=4 K=6 N=5 B@N,K");
  CHECK(canonical("matmul M=4 N=5 K=6 B.stride=(1,6)") == "matmul M=4 K=6 N=5 B@N,K");
  CHECK(canonical("matmul M=4 N=5 K=6 B.stride=(1,8) A.stride=(?,1)") ==
        "matmul M=4 K=6 N=5 A.stride=(?,1) B.stride=(1,8)");
  CHECK(canonical("matmul M=4 N=5 K=6 align=64") == "matmul M=4 K=6 N=5 align=64");
  CHECK(canonical("matmul M=4 N=5 K=6 B.align=64 numerics=seq") ==
        "matmul M=4 K=6 N=5 B.align=64 numerics=seq");
  CHECK(canonical("conv2d N=1 C=3 H=8 W=8 O=4 R=3 Q=3 Y@N,d2,d3,O S=1").find("Y@N,d2,d3,O") !=
        std::string::npos);
  // By name only if it is the stock op of that name.
  const std::string text = stock_library().find("relu")->text();
  CHECK(canonical(text + " N=4") == "relu N=4");
  const std::string other = "op relu<T=f32>(X: T[N]) -> (Y: T[N]) { Y[i] = max(X[i],1) }";
  CHECK(canonical(other + "   N=4") == other + " N=4");
  const auto p = make_problem(Op::parse(other).value(), "N=4");
  REQUIRE(p);
  CHECK(p->text == other + " N=4");
}

TEST_CASE("problems: a library's ops come before the stock ones") {
  const auto library = hone::ops::parse_library(
      "# mine\nop relu(X: f32[N]) -> (Y: f32[N]) { Y[i] = X[i] }\ncase small relu N=3 # tiny\n"
      "case bench relu N=9\n",
      "mine.hone");
  REQUIRE(library);
  REQUIRE(library->cases.size() == 2);
  CHECK(library->cases[0].small);
  CHECK(library->cases[0].problem == "relu N=3");
  const auto p = parse_problem("relu N=3", &*library);
  REQUIRE(p);
  CHECK(p->text == "op relu(X: f32[N]) -> (Y: f32[N]) { Y[i] = X[i] } N=3");
}

TEST_CASE("stock: what is of floats by a parameter binds for all of them") {
  for (const auto& c : stock_library().cases) {
    const std::string name = c.problem.substr(0, c.problem.find(' '));
    const auto& d = *stock_library().find(name)->definition;
    for (const auto& p : d.params) {
      const bool pinned = c.problem.find(" " + p.name + "=") != c.problem.npos;
      if (!p.is_type || !hone::is_float(p.type) || pinned) continue;
      // A sum in f64 is not stored to a fixed f32 unasked.
      const bool fixed_output = std::any_of(d.args.begin(), d.args.end(), [&](const auto& a) {
        return a.role != hone::ir::Role::kInput && !d.param(a.type);
      });
      for (const char* type : {"f64", "f32", "f16", "bf16"}) {
        if (fixed_output && std::string(type) == "f64") continue;
        const std::string text = c.problem + " " + p.name + "=" + type;
        CHECK_MESSAGE(static_cast<bool>(parse_problem(text)), text);
      }
    }
  }
}

TEST_CASE("ops: what an inout became is noted where it is read, once a statement") {
  const auto notes = [](const std::string& body) {
    const auto op = Op::parse("op f(g: f32[N], inout m: f32[N], inout p: f32[N]) { " + body + " }");
    REQUIRE(op);
    return op->definition->notes;
  };
  const auto careless = notes("m[i] = 0.9*m[i] + g[i]; p[i] = p[i] - (0.9*m[i] + g[i]) + m[i]");
  REQUIRE(careless.size() == 1);
  CHECK(careless[0].starts_with("1:96: `m[i]` is the new value of the inout `m`"));
  CHECK(notes("m[i] = 0.9*m[i] + g[i]; p[i] += g[i]").empty());
}

TEST_CASE("stock: every op parses, prints and parses back; every case binds") {
  for (const Op& op : stock_library().ops) {
    const auto again = Op::parse(op.text());
    REQUIRE_MESSAGE(again, op.text());
    CHECK(again->text() == op.text());
    CHECK(hone::ops::find_stock(op.name()).value().text() == op.text());
    int small = 0;
    for (const auto& c : stock_library().cases) {
      small += c.small && c.problem.starts_with(op.name() + " ");
    }
    CHECK_MESSAGE(small > 0, op.name());
  }
  CHECK(hone::ops::stock_names().size() == stock_library().ops.size());
  for (const hone::ops::Case& c : stock_library().cases) {
    const auto p = parse_problem(c.problem);
    REQUIRE_MESSAGE(p, (p ? "" : p.failure().message));
    CHECK(canonical(p->text) == p->text);
  }
}

TEST_CASE("stock: small cases are small") {
  for (const hone::ops::Case& c : stock_library().cases) {
    if (!c.small) continue;
    const auto p = parse_problem(c.problem);
    REQUIRE(p);
    double points = 0;
    for (const hone::ir::Stage& s : p->program.stages) {
      double stage_points = 1;
      for (const auto* vars : {&s.vars, &s.rvars}) {
        for (const hone::ir::IndexVar& v : *vars) {
          int64_t hi = 64;
          hone::ir::is_const(v.hi, &hi);
          stage_points *= static_cast<double>(hi);
        }
      }
      points += stage_points;
    }
    CHECK_MESSAGE(points <= 4e6, c.problem);
  }
}
