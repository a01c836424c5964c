// SPDX-License-Identifier: Apache-2.0
//
// Recurrences of which the youngest elements alone are kept, around the loop whose steps go on.
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

std::string untuned(const std::string& problem) {
  const auto parsed = ops::parse_problem(problem);
  REQUIRE_MESSAGE(parsed, parsed.failure().message);
  const auto target = ir::parse_target("x86 isa=avx2 threads=1 l1d=32K l2=256K l3=8M", {});
  REQUIRE(target);
  return schedules::analytic_schedule(parsed->program, *target).schedule.text();
}

bool is_kept_around(const std::string& schedule) {
  return schedule.find(" store ") != std::string::npos;
}

/// A state along t for each c, and what reads it.
std::string op(const std::string& state, const std::string& result, const std::string& sizes) {
  std::string arguments = "X: f32[L,C]";
  if ((state + result).find("s0[c]") != std::string::npos) arguments += ", s0: f32[C]";
  return "op f(" + arguments + ") -> (Y: f32[L,C]) { s: f32[t,c] = " + state +
         "; Y[t,c] = " + result + " } " + sizes;
}

const std::vector<std::string> kStates = {
    "X[t,c] + 0.5*(s[t-1,c] else 0)",
    "max(X[t,c], 0.5*(s[t-1,c] else s0[c]))",
    "0.5*(s[t-1,c] else X[t,c]) + X[t,c]*(s[t-1,c] else X[t,c])",
};

const std::string kChains = "split Y/c 8 -> c.o c.i; reorder Y/c.o Y/t Y/c.i; ";

}  // namespace

TEST_CASE("diff: the last elements of a state are kept around the loop of its steps") {
  for (const std::string& state : kStates) {
    for (const std::string& sizes :
         std::vector<std::string>{"L=7 C=21", "L=1 C=8", "L=0..9 C=19"}) {
      const bool open = sizes.find("..") != std::string::npos;
      const bool needs_first = state.find("else X") != std::string::npos;
      if (open && needs_first) continue;  // which is not there where L is 0
      for (const std::string& more : std::vector<std::string>{"", " in=registers; unroll Y/c.i s/c",
                                                              "; vectorize Y/c.i s/c"}) {
        const std::string problem = op(state, "X[t,c] - 2*s[t,c]", sizes);
        const std::string steps = kChains + "compute s at Y/t store Y/c.o" + more;
        if (!open) expect_right(problem, {steps});
        for (const int64_t length : open ? std::vector<int64_t>{0, 1, 6} : std::vector<int64_t>{}) {
          expect_right(problem, {steps}, {length});
        }
      }
    }
  }
}

TEST_CASE("diff: of a state that is read a step later two elements are kept") {
  const std::string steps = kChains + "compute s at Y/t store Y/c.o; vectorize Y/c.i s/c";
  const std::string result = "s[t,c] - (s[t-1,c] else 3)";
  const std::string problem = op("X[t,c] + 0.5*(s[t-1,c] else 3)", result, "L=6 C=21");
  expect_right(problem, {steps});
  const std::string other = op("X[t,c] + 0.5*(s[t-1,c] else 2)", result, "L=6 C=21");
  CHECK(outcome(other, steps, kInterp) != "");
}

TEST_CASE("diff: a state goes on from one piece of a loop to the next") {
  const std::string result = "s[t,c] - (X[t-2,c] else 1)*(X[t+1,c] else 2)";
  const std::string steps = kChains + "compute s at Y/t store Y/c.o; partition Y/t";
  expect_right(op(kStates[0], result, "L=7 C=21"), {steps});
  expect_right(op(kStates[1], result, "L=2 C=9"), {steps});
}

TEST_CASE("diff: a state whose steps do not follow one another is refused") {
  const std::string problem = op(kStates[0], "X[t,c] - s[t,c]", "L=12 C=21");
  const std::string parts = "split Y/t 4 -> t.o t.i; split Y/c 8 -> c.o c.i; ";
  for (const std::string& steps : {
           kChains + "compute s at Y/c.i store Y/c.o",
           kChains + "compute s at Y/t",
           kChains + "compute s at Y/t store Y/t",
           parts + "reorder Y/c.o Y/t.o Y/t.i Y/c.i; compute s at Y/t.i store Y/t.o",
           parts + "reorder Y/c.o Y/t.o Y/t.i Y/c.i; compute s at Y/t.i store Y/c.o",
           parts + "reorder Y/t.o Y/c.o Y/t.i Y/c.i; compute s at Y/t.i store Y/c.o",
           kChains + "compute s at Y/t store Y/c.o; unroll Y/t",
       }) {
    for (const BackEnd* back_end : kCpuBackEnds) {
      if (!can_run(*back_end)) continue;
      const std::string refused = outcome(problem, steps, *back_end);
      CHECK_MESSAGE(refused.find("repro") == std::string::npos, refused);
      CHECK_MESSAGE(refused != "", steps);
    }
  }
}

TEST_CASE("diff: of a long history the last elements alone are kept by default") {
  const auto kept_around = [](const std::string& problem, const std::vector<int64_t>& dims = {}) {
    const std::string steps = untuned(problem);
    expect_right(problem, {steps}, dims);
    return is_kept_around(steps);
  };
  for (const std::string& state : kStates) {
    CHECK(kept_around(op(state, "X[t,c] - s[t,c]", "L=301 C=133")));
    CHECK_FALSE(kept_around(op(state, "X[t,c] - s[t,c]", "L=31 C=33")));
  }
  const std::string sums =
      "op f(X: f32[B,L,C], A: f32[C,S], P: f32[B,L,S]) -> (Y: f32[B,L,C]) { "
      "h: f32[b,t,c,s] = A[c,s]*(h[b,t-1,c,s] else 0) + X[b,t,c]*P[b,t,s]; "
      "Y[b,t,c] = sum[s](h[b,t,c,s]*P[b,t,s]) } ";
  CHECK(kept_around(sums + "B=2 L=40 C=37 S=19"));
  CHECK(kept_around(sums + "B=1 L=150 C=3 S=101"));
  CHECK(kept_around(sums + "B=1..3 L=60 C=37 S=19", {2}));
  const std::string two =
      "op f(X: f32[L,C], a: f32) -> (Y: f32[L,C]) { m: f32[t,c] = X[t,c] + 0.5*(m[t-1,c] else 0); "
      "v: f32[t,c] = X[t,c]*X[t,c] + a*(v[t-1,c] else 1); Y[t,c] = v[t,c] - m[t,c]*m[t,c] } ";
  CHECK(kept_around(two + "L=301 C=133"));
  // Whose chains run along memory, and whose last reader reads other elements.
  CHECK_FALSE(
      kept_around("op f(X: f32[M,N]) -> (Y: f32[M,N]) { s: f32[i,j] = "
                  "X[i,j]*0.5 + 0.5*(s[i,j-1] else 0); Y[i,j] = s[i,j]*X[i,j] } M=70 N=700"));
  CHECK_FALSE(
      kept_around("op f(X: f32[L,C]) -> (Y: f32[L,C]) { s: f32[t,c] = "
                  "X[t,c] + 0.5*(s[t-1,c] else 0); Y[t,c] = s[t,c] - s[0,c] } L=301 C=133"));
}
