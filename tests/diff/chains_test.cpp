// SPDX-License-Identifier: Apache-2.0
//
// Recurrences along memory whose chains are put into lanes: each goes on in a tensor of its own,
// inside a loop that holds its chains whole.
#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "ops/op.h"
#include "schedules/space/space.h"
#include "tests/diff/expect.h"
#include "tests/support/effort.h"

using namespace hone;
using namespace hone::tests;

namespace {

schedules::Scheduled untuned(const std::string& problem, const std::string& isa) {
  const auto parsed = ops::parse_problem(problem);
  REQUIRE_MESSAGE(parsed, parsed.failure().message);
  const auto target = ir::parse_target("x86 isa=" + isa + " threads=1", {});
  REQUIRE(target);
  return schedules::analytic_schedule(parsed->program, *target);
}

/// Whether the chains of a problem are in lanes by default, and right then at `dims`.
bool in_lanes(const std::string& problem, const std::vector<int64_t>& dims = {}) {
  const std::string steps = untuned(problem, "avx2").schedule.text();
  expect_right(problem, {steps}, dims);
  return steps.find("cache_write") != std::string::npos;
}

std::string op(const std::string& type, const std::string& value, const std::string& sizes) {
  std::string arguments = "X: " + type + "[M,N]";
  if (value.find("c[i]") != std::string::npos) arguments += ", c: " + type + "[M]";
  if (value.find("d[j]") != std::string::npos) arguments += ", d: " + type + "[N]";
  return "op f(" + arguments + ") -> (Y: " + type + "[M,N]) { Y[i,j] = " + value + " } " + sizes;
}

}  // namespace

TEST_CASE("diff: chains along memory are in lanes by default") {
  const std::vector<std::string> values = {
      "X[i,j]*(Y[i,j-1] else 1)",
      "c[i]*(Y[i,j-2] else d[j]) + X[i,j]",
      "max(X[i,j] + (Y[i,j+1] else c[i]), d[j])",
      "X[i,j] + d[j]*(X[i,j-1] else 0) - c[i]*(Y[i,j-1] else 0) - (Y[i,j-2] else 1)",
      "max(X[i,j], c[i] - (Y[i,j+3] else d[j]))",
  };
  const int most = static_cast<int>(by_effort(2, 6, 12));
  for (const std::string type : {"f32", "f64", "i32"}) {
    for (const std::string& value : values) {
      if (type == "i32" && value == values[0]) continue;  // whose lanes are prefixes
      for (int k = 0; k < most; ++k) {
        const std::string m = std::to_string(8 + 5 * k), n = std::to_string(16 + 7 * k);
        CHECK(in_lanes(op(type, value, "M=" + m + " N=" + n)));
      }
      for (const std::vector<int64_t>& dims : {std::vector<int64_t>{40, 50}, {1, 1}, {11, 19}}) {
        CHECK(in_lanes(op(type, value, "M=1..40 at 40 N=1..50 at 50"), dims));
      }
    }
  }
  CHECK(
      in_lanes("op f(X: f32[B,N,M]) -> (Y: f32[B,M,N]) { Y[b,i,j] = X[b,j,i]*(Y[b,i,j-1] else 2) } "
               "B=3 M=21 N=34"));
}

TEST_CASE("diff: few or short chains and those that lie apart stay as they are") {
  const std::string product = "X[i,j]*(Y[i,j-1] else 1)";
  for (const std::string sizes : {"M=7 N=40", "M=40 N=15", "M=40 N=40 Y@N,M"}) {
    CHECK_FALSE(in_lanes(op("f32", product, sizes)));
  }
  const std::string longest = op("f32", product, "M=8 N=1000000");
  CHECK(untuned(longest, "avx2").schedule.text().find("cache_write") == std::string::npos);
}

TEST_CASE("diff: a recurrence in scratch has its chains from their beginning, or is refused") {
  const std::string rows =
      "cache_write Y -> T layout=[j][i]; split Y/i 3 -> i.o i.i; split Y/j 4 -> j.o j.i; "
      "reorder i.o j.o i.i j.i; compute T at Y/";
  for (const std::string value : {"X[i,j]*(Y[i,j-1] else 1)", "X[i,j] + (Y[i,j+2] else c[i])"}) {
    const std::string problem = op("f32", value, "M=10 N=18");
    expect_right(problem, {rows + "i.o"});
    for (const BackEnd* back_end : kCpuBackEnds) {
      if (!can_run(*back_end)) continue;
      for (const std::string part : {"j.o", "i.i", "j.i"}) {
        const std::string refused = outcome(problem, rows + part, *back_end);
        CHECK_MESSAGE(refused.find("goes on from itself along dim 1") != std::string::npos,
                      refused);
      }
    }
  }
}

TEST_CASE("diff: chains in scratch begin at their first element, whatever readers ask for") {
  for (const std::string value :
       {"max(s[i,j-1] else X[i,0], T[i,j])", "X[i,0]*(s[i,j-1] else 2) + T[i,j]",
        "T[i,j] - X[i,j]*(s[i,j-1] else X[i,0])"}) {
    const std::string problem =
        "op f(X: f32[M,N], T: f32[M,N]) -> (Y: f32[M,N]) { s: f32[i,j] = " + value +
        "; Y[i,j] = s[i,j-2] else 3 } M=4 N=7";
    expect_right(problem, {"compute s at Y/i", "compute s at Y/i; vectorize s/j"});
  }
}

TEST_CASE("diff: several steps at once go on from what the steps before left") {
  const std::vector<std::string> values = {
      "X[i,j] - 0.5*(Y[i-1,j] else 0) + 0.25*(Y[i-2,j] else 1)",
      "X[i,j] + 0.5*(Y[i-1,j+1] else 0) - 0.25*(Y[i-1,j-1] else 1)",
      "max(X[i,j], 0.5*(Y[i-1,j+3] else d[j])) - 0.5*(Y[i-1,j] else 0)",
      "min(Y[i-2,j-1] else 3, X[i,j]) + 0.5*(Y[i-1,j-2] else 0)",
  };
  const std::vector<std::string> schedules = {
      "split i 4 -> i.o i.i tail=peel; unroll i.i; vectorize j",
      "split i 8 -> i.o i.i; unroll i.i; unroll j",
      "split i 2 -> i.o i.i tail=peel; unroll i.i; split j 8 -> j.o j.i; vectorize j.i",
  };
  for (const std::string type : {"f32", "f64"}) {
    for (const std::string& value : values) {
      for (const std::string sizes : {"M=13 N=5", "M=9 N=19", "M=10 N=40", "M=3 N=64"}) {
        expect_right(op(type, value, sizes), schedules);
      }
    }
  }
}

TEST_CASE("diff: chains that leave registers idle take several steps by default") {
  const auto unrolled = [](const std::string& problem) {
    const std::string steps = untuned(problem, "avx2").schedule.text();
    expect_right(problem, {steps});
    return steps.find("unroll Y/i.i") != std::string::npos;
  };
  const std::string filter = "X[i,j] - 0.5*(Y[i-1,j] else 0) + 0.25*(Y[i-2,j] else 1)";
  CHECK(unrolled(op("f32", filter, "M=100 N=1")));
  CHECK(unrolled(op("f32", filter, "M=41 N=8")));
  CHECK(unrolled(op("f32", filter, "M=33 N=27")));
  CHECK(unrolled(op("f32", filter, "M=40 N=3 Y@N,M")));
  CHECK_FALSE(unrolled(op("f32", filter, "M=3 N=8")));
  CHECK_FALSE(unrolled(op("f32", filter, "M=20 N=3000")));
}
