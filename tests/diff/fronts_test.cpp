// SPDX-License-Identifier: Apache-2.0
//
// Recurrences along two indices: several rows go on side by side, whatever is left of them.
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

/// The schedule of a problem by default, checked at `dims`.
std::string untuned(const std::string& problem, const std::vector<int64_t>& dims = {}) {
  const auto parsed = ops::parse_problem(problem);
  REQUIRE_MESSAGE(parsed, parsed.failure().message);
  const auto target = ir::parse_target("x86 isa=avx2 threads=1", {});
  REQUIRE(target);
  const schedules::Schedule schedule =
      schedules::analytic_schedule(parsed->program, *target).schedule;
  Subject subject = subject_of(problem, dims);
  expect_right(&subject, schedule);
  return schedule.text();
}

bool rows_aside(const std::string& problem, const std::vector<int64_t>& dims = {}) {
  return untuned(problem, dims).find("unroll Y/i.i") != std::string::npos;
}

std::string op(const std::string& body, const std::string& sizes) {
  const bool reads_x = body.find("X[j]") != std::string::npos;
  const std::string arguments = reads_x ? "A: f32[M], X: f32[N]" : "A: f32[M]";
  return "op f(" + arguments + ") -> (Y: f32[M,N]) { " + body + " } " + sizes;
}

}  // namespace

TEST_CASE("diff: rows of a recurrence along two indices are side by side by default") {
  const std::vector<std::string> bodies = {
      "Y[i,j] = max(A[i]*X[j], (Y[i-1,j-1] else 0) - max(Y[i-1,j] else 1, Y[i,j-1] else 2))",
      "Y[i,j] = A[i] - 0.5*(Y[i+1,j] else X[j]) + 0.25*(Y[i,j+1] else A[i])",
      "Y[i,j] = A[i] + 0.5*sin((Y[i-1,j-2] else 0) + (Y[i-2,j-1] else X[j]))",
      R"(E: f32[i,j] = max(0.5*(E[i,j-1] else 1), Y[i,j-1] else X[j])
         Y[i,j] = A[i] - E[i,j] + 0.25*(Y[i-1,j-1] else 0))",
      R"(E: f32[i,j] = 0.5*(E[i,j+1] else 1) + (Y[i+1,j] else X[j])
         F: f32[i,j] = 0.5*(F[i+1,j] else 1) - 0.25*(Y[i,j+1] else A[i])
         Y[i,j] = max(E[i,j], F[i,j])*A[i])",
  };
  const int most = static_cast<int>(by_effort(2, 4, 9));
  for (const std::string& body : bodies) {
    CAPTURE(body);
    for (int k = 0; k < most; ++k) {
      const std::string m = std::to_string(2 + 5 * k), n = std::to_string(21 - 2 * k);
      CHECK(rows_aside(op(body, "M=" + m + " N=" + n)));
    }
    for (const std::vector<int64_t>& dims : {std::vector<int64_t>{20, 30}, {1, 1}, {11, 2}}) {
      CHECK(rows_aside(op(body, "M=1..20 at 20 N=1..30 at 30"), dims));
    }
  }
}

TEST_CASE("diff: one row, many chains and long expressions stay as they are") {
  const std::string both = "Y[i,j] = 0.5*(Y[i-1,j] else 0) + 0.25*(Y[i,j-1] else A[i])";
  CHECK_FALSE(rows_aside(op(both, "M=1 N=20")));
  std::string longer = both;
  for (int k = 0; k < 100; ++k) longer += " + 0.5*X[j]";
  CHECK_FALSE(rows_aside(op(longer, "M=20 N=20")));
  // An element of the row before that comes later in it.
  CHECK_FALSE(rows_aside(
      op("Y[i,j] = A[i] + 0.5*(Y[i-1,j+1] else 0) + 0.25*(Y[i,j-1] else 1)", "M=20 N=20")));
  const auto batch = [](const std::string& sizes) {
    return "op f(A: f32[B,M]) -> (Y: f32[B,M,N]) { Y[b,i,j] = A[b,i] + 0.5*(Y[b,i-1,j] else 0) - "
           "0.25*(Y[b,i,j-1] else 1) } " +
           sizes;
  };
  CHECK(rows_aside(batch("B=3 M=13 N=20")));
  CHECK_FALSE(rows_aside(batch("B=30 M=13 N=20")));
}
