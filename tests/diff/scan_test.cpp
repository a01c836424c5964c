// SPDX-License-Identifier: Apache-2.0
//
// Recurrences in the lanes of vectors: prefixes are what one result after the other is, whatever is
// left of a vector, in whatever order the tensors lie.
#include "jit/ir/scan.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "jit/passes/lower.h"
#include "ops/op.h"
#include "schedules/space/space.h"
#include "tests/diff/expect.h"
#include "tests/support/effort.h"

using namespace hone;
using namespace hone::tests;

namespace {

const std::string kRowsAside =
    "split j 16 -> j.o j.i tail=peel; split i 2 -> i.o i.i tail=peel; reorder i.o j.o i.i j.i; "
    "unroll i.i; vectorize j.i; partition j.o";
const std::vector<std::string> kSchedules = {
    "vectorize j",
    "split j 8 -> j.o j.i; vectorize j.i",
    "split j 8 -> j.o j.i tail=peel; vectorize j.i; partition j.o",
    "split j 32 -> j.o j.i tail=peel; vectorize j.i; partition j.o",
    kRowsAside,
    "split j 20 -> j.o j.i; reorder j.o i j.i; vectorize j.i",
    "reorder j i; vectorize j; unroll i",
};

void check(const std::string& problem, const std::vector<std::string>& schedules = kSchedules) {
  expect_right(problem, schedules);
}

std::string op(const std::string& type, const std::string& value, const std::string& sizes) {
  const bool first = value.find("c[i]") != std::string::npos;
  return "op f(X: " + type + "[M,N]" + (first ? ", c: " + type + "[M]" : "") + ") -> (Y: " + type +
         "[M,N]) { Y[i,j] = " + value + " } " + sizes;
}

}  // namespace

namespace {

/// Of what a recurrence makes of `x`, or of `x` and factors: the bounds of its errors.
std::vector<double> bounds_of(const std::string& text, std::vector<float> x,
                              std::vector<float> factors = {}) {
  const std::string n = std::to_string(x.size());
  const std::string arguments = factors.empty() ? "X: f32[N]" : "X: f32[N], A: f32[N]";
  const auto parsed =
      ops::parse_problem("op f(" + arguments + ") -> (Y: f32[N]) { " + text + " } N=" + n);
  REQUIRE_MESSAGE(parsed, parsed.failure().message);
  std::vector<float> y(x.size());
  std::vector<jit::TensorView> views;
  for (std::vector<float>* data : {&x, &factors, &y}) {
    if (data->empty()) continue;
    jit::TensorView v;
    v.type = DType::kF32;
    v.shape = {static_cast<int64_t>(x.size())};
    v.strides = {1};
    v.data = data->data();
    views.push_back(v);
  }
  auto out = jit::evaluate(parsed->program, views, {}, {});
  REQUIRE_MESSAGE(out, out.failure().message);
  return out->outputs[0].bound;
}

}  // namespace

TEST_CASE("diff: prefix sums may be off by what cancels among their neighbours") {
  for (const std::string text :
       {"Y[i] = (Y[i-1] else 0) + X[i]", "t[i] = (Y[i-1] else 0) + X[i]; Y[i] = t[i]"}) {
    CAPTURE(text);
    // Before 2^100 is added, the others came to -2^100.
    auto bounds = bounds_of(text, {0x1p100F, -0x1p100F, 1.5F});
    CHECK(bounds[2] >= 1.5);
    CHECK(bounds[2] < 0x1p82);
    bounds = bounds_of(text, {0x1p20F, -0x1p20F, 0.1F});
    CHECK(bounds[1] == 0);
    CHECK(bounds[2] >= 0x1p-5);
    CHECK(bounds[2] < 16);
    // Three of the four overflow.
    bounds = bounds_of(text, {-0x1p127F, 0x1p127F, -0x1p127F, 0x1p127F, 1});
    CHECK(std::isinf(bounds[3]));
    // Small integers are exact in any order.
    bounds = bounds_of(text, {1, -2, 3, 1000, -1000});
    CHECK(bounds == std::vector<double>(5));
  }
}

TEST_CASE("diff: linear recurrences may be off by what their factors make on the way") {
  const std::string text = "Y[i] = A[i]*(Y[i-1] else 0) + X[i]";
  // Small integers and factors of 1, 0 or -1 are exact in any order.
  CHECK(bounds_of(text, {1, -2, 3, 1000}, {1, -1, 0, 1}) == std::vector<double>(4));
  // What vanishes came from terms that were rounded.
  auto bounds = bounds_of(text, {1, 3, -15, 0}, {3, 3, 3, 3});
  CHECK(bounds[2] >= 0x1p-24);
  CHECK(bounds[2] < 1e-3);
  // A product of two factors overflows, though the state that it meets is 0: it stays NaN.
  bounds = bounds_of(text, {0, 0, 0, 1}, {1, 1e30F, 1e30F, 0});
  CHECK(bounds[0] == 0);
  CHECK(std::isinf(bounds[2]));
  CHECK(std::isinf(bounds[3]));
}

TEST_CASE("diff: recurrences in lanes, every rest of a vector") {
  const std::vector<std::string> values = {
      "X[i,j] + (Y[i,j-1] else 0)",
      "(Y[i,j-1] else c[i]) + X[i,j]*X[i,j]",
      "max(X[i,j], Y[i,j-1] else X[i,j])",
      "min(Y[i,j-1] else c[i], X[i,j])",
      "X[i,j] + (Y[i,j+1] else c[i])",
      "max(Y[i,j+1] else c[i], X[i,j])",
      "X[i,j]*(Y[i,j-1] else c[i]) + X[i,j]",
      "X[i,j] - c[i]*(Y[i,j+1] else 1)",
      "(Y[i,j-1] else 0) + c[i]*(X[i,j] - (Y[i,j-1] else 0))",
  };
  const int most = static_cast<int>(by_effort(10, 20, 40));
  const int apart = static_cast<int>(by_effort(4, 4, 1));
  int first = 0;  // another one for each value, so that some value has each rest
  for (const std::string type : {"f32", "f64", "i32", "i64"}) {
    for (const std::string& value : values) {
      for (int n = 1 + first++ % apart; n <= most; n += apart) {
        const std::string m = std::to_string(1 + n % 4);
        check(op(type, value, "M=" + m + " N=" + std::to_string(n)));
      }
      check(op(type, value, "M=3 N=70"));
    }
  }
  for (const std::string type : {"i32", "i64"}) {
    check(op(type, "X[i,j]*(Y[i,j-1] else c[i])", "M=3 N=37"));
  }
}

TEST_CASE("diff: recurrences in blocks and every rest of a block") {
  const std::vector<std::string> in_blocks = {
      "scan Y/j 4 -> s",
      "scan Y/j 8 -> s; split Y/j 8 -> j.o j.i; compute s at Y/j.o",
      "scan Y/j 3 -> s; compute s at Y/i",
      "scan Y/j 4 -> s; scan s.state/s.b 2 -> q",
  };
  const std::vector<std::string> in_lanes = {
      "scan Y/j 8 -> s; vectorize s/s.t",
      "scan Y/j 8 -> s; split Y/j 8 -> j.o j.i; compute s at Y/j.o; vectorize s/s.t",
  };
  for (const std::string type : {"f32", "f64", "i32"}) {
    for (const std::string value :
         {"X[i,j] + (Y[i,j-1] else c[i])", "max(Y[i,j+1] else X[i,j], X[i,j])",
          "X[i,j] - c[i]*(Y[i,j-1] else 1)"}) {
      for (int n = 5; n <= 22; n += static_cast<int>(by_effort(7, 5, 1))) {
        check(op(type, value, "M=3 N=" + std::to_string(n)), in_blocks);
      }
      check(op(type, value, "M=3 N=24"), in_lanes);
    }
  }
}

TEST_CASE("diff: recurrences in lanes of tensors that lie in other orders") {
  for (const std::string value : {"X[i,j] + (Y[i,j-1] else 0)", "max(X[i,j], Y[i,j-1] else c[i])",
                                  "c[i]*(Y[i,j+1] else 0) + X[i,j]"}) {
    for (const std::string sizes :
         {"M=3 N=37 Y@N,M", "M=5 N=19 X@N,M", "M=4 N=21 Y.stride=(50,2)", "M=1 N=33 Y@N,M"}) {
      check(op("f32", value, sizes));
    }
  }
}

TEST_CASE("diff: recurrences with each loop in lanes, in each order of the loops") {
  int scans = 0, refused = 0;
  for (const std::string value :
       {"X[i,j] + (Y[i,j-1] else 0)", "(Y[i-1,j] else 0) + X[i,j]",
        "max(X[i,j], Y[i-1,j-1] else 0)", "X[i,j] - 0.5*(Y[i,j+1] else 0)"}) {
    const std::string text = op("f64", value, "M=8 N=8");
    const auto parsed = ops::parse_problem(text);
    REQUIRE_MESSAGE(parsed, parsed.failure().message);
    Subject subject(text, parsed->program);
    std::vector<std::string> loops = {"i.i", "i.o", "j.i", "j.o"};
    do {
      std::string steps = "split i 2 -> i.o i.i; split j 4 -> j.o j.i; reorder";
      for (const std::string& loop : loops) steps += " " + loop;
      std::string unrolled;
      for (size_t v = loops.size(); v-- > 0; unrolled += "; unroll " + loops[v]) {
        const auto schedule =
            schedules::Schedule::parse(steps + unrolled + "; vectorize " + loops[v]);
        REQUIRE(schedule);
        const auto applied = schedules::apply(subject.program(), *schedule);
        refused += !applied;
        if (!applied) continue;
        scans += ir::scanning_loop(applied->stages[0]).has_value();
        expect_right(&subject, *schedule);
      }
    } while (std::next_permutation(loops.begin(), loops.end()));
  }
  CHECK(scans >= 20);
  CHECK(refused >= 20);
}

TEST_CASE("diff: a recurrence that combines neighbours is scanned in lanes by default") {
  const auto scanned = [](const std::string& problem) {
    const auto parsed = ops::parse_problem(problem);
    REQUIRE_MESSAGE(parsed, parsed.failure().message);
    const auto target = ir::parse_target("x86 isa=avx2 threads=1", {});
    REQUIRE(target);
    const auto scheduled = schedules::analytic_schedule(parsed->program, *target);
    return ir::scanning_loop(scheduled.program.stages[0]).has_value();
  };
  CHECK(scanned("row_cumsum M=64 N=1024"));
  CHECK(scanned("row_cummax M=1 N=1024"));
  CHECK(scanned("op f(X: i32[N]) -> (Y: i32[N]) { Y[j] = X[j]*(Y[j-1] else 1) } N=100"));
  CHECK(scanned("row_cumsum_backward M=64 N=1024"));
  CHECK(
      scanned("op f(X: f32[M,N], A: f32[M,N]) -> (Y: f32[M,N]) "
              "{ Y[i,j] = A[i,j]*(Y[i,j-1] else 0) + X[i,j] } M=3 N=100"));
  CHECK(
      scanned("op f(X: f64[N], a: f64) -> (Y: f64[N]) "
              "{ Y[j] = (Y[j+1] else 0) - a*((Y[j+1] else 0) - X[j]) } N=100"));
  CHECK_FALSE(scanned("moving_average L=100 C=16"));
  CHECK_FALSE(scanned("op f(X: f32[N]) -> (Y: f32[N]) { Y[j] = X[j] - 2*(Y[j-2] else 1) } N=100"));
  CHECK_FALSE(scanned("row_cumsum M=64 N=1024 Y@N,M"));
  CHECK_FALSE(scanned("row_cumsum M=64 N=9"));
  CHECK_FALSE(scanned("row_cumprod M=64 N=1024"));
  CHECK_FALSE(scanned("row_cumsum M=64 N=1024 T=bf16"));
  CHECK_FALSE(scanned("column_cumsum M=64 N=1024"));
}
