// SPDX-License-Identifier: Apache-2.0
// How far a step of an index moves an access, where the index is no plain sum.
#include <doctest/doctest.h>

#include "ops/op.h"
#include "schedules/schedule.h"
#include "schedules/space/analysis/facts.h"
#include "schedules/space/analysis/shape.h"
#include "schedules/space/space.h"
#include "tests/support/programs.h"

using namespace hone;

TEST_CASE("strides: a quotient leaves those of the indices beside it known") {
  const struct {
    const char* problem;
    const char* var;
    int64_t stride;
    bool chosen;  ///< by a division or data
  } rows[] = {
      {"op f(X: f32[N,Q]) -> (Y: f32[A,Q]) { Y[a,q] = X[a*N/7,q] } N=20 A=7 Q=9", "q", 1, false},
      {"op f(X: f32[M]) -> (Y: f32[A,Q]) { Y[a,q] = X[a*20/7 + q] else 0 } M=24 A=7 Q=4", "q", 1,
       false},
      {"op f(X: f32[M]) -> (Y: f32[A,Q]) { Y[a,q] = X[a*20/7 + q] else 0 } M=24 A=7 Q=4", "a", 4096,
       true},
      {"op f(X: f32[M]) -> (Y: f32[A,Q]) { Y[a,q] = X[a*20/5 + q] } M=24 A=4 Q=4", "a", 4, false},
      // A factor that only the call knows.
      {"op f(X: f32[M], B: f32[W]) -> (Y: f32[A,W]) { Y[a,q] = (X[a*W + q] else 0)*B[q] } M=24 A=4 "
       "W=1..6",
       "a", 4096, true},
      {"op f(X: f32[M], p: i32[A]) -> (Y: f32[A,Q]) { Y[a,q] = X[2*q - p[a]] else 0 } M=24 A=7 Q=4",
       "q", 2, false},
  };
  for (const auto& row : rows) {
    CAPTURE(row.problem);
    const auto problem = ops::parse_problem(row.problem);
    REQUIRE(problem);
    const ir::Program& program = problem->program;
    const auto facts = schedules::facts_of(program, program.stages.back());
    const auto load = std::find_if(facts.loads.begin(), facts.loads.end(),
                                   [](const auto& a) { return a.buffer == "X"; });
    REQUIRE(load != facts.loads.end());
    CHECK(load->stride(row.var) == row.stride);
    CHECK(load->chosen.contains(row.var) == row.chosen);
  }
}

TEST_CASE("strides: vectors of quotients up to two a step are loads and shuffles") {
  const struct {
    const char* index;
    bool slow;
  } rows[] = {
      {"q/2", true},
      {"(3*q + 1)/4", true},
      {"5*q/4", true},
      {"9*q/4", false},
      {"q ^ 3", true},
      {"q ^ 9", false},
      {"min(40, max(0, q/2 + 1))", true},
      {"q/2 + q/3", false},
      {"q*q/2", false},
      {"min(40, q/2) + 3", true},
      {"q%8", false},
  };
  for (const auto& row : rows) {
    CAPTURE(row.index);
    const auto problem =
        ops::parse_problem(std::string("op f(X: f32[R,M]) -> (Y: f32[R,Q]) { ") + "Y[r,q] = X[r," +
                           row.index + "] else 0 } R=3 M=99 Q=40");
    REQUIRE(problem);
    const auto facts = schedules::facts_of(problem->program, problem->program.stages.back());
    REQUIRE(facts.loads.size() == 1);
    CHECK(facts.loads[0].slow.contains("q") == row.slow);
    CHECK(facts.loads[0].stride("r") == 99);
  }
}

TEST_CASE("strides: indices that only choose do not narrow vectors") {
  const auto problem = ops::parse_problem(
      "op f(X: f32[N]) -> (Y: f32[N]) { Y[i] = select(i % 3 == 0, X[i], -X[i]) } N=100");
  REQUIRE(problem);
  const ir::Program& program = problem->program;
  CHECK(schedules::widest_type(program, program.stages.back()) == DType::kF32);
}

TEST_CASE("strides: a loop is cut where a quotient of it leaves the tensor") {
  const auto problem = ops::parse_problem(
      "op f(X: f32[H,W]) -> (Y: f32[P,W]) { Y[p,w] = (X[(4*p - 3)/7,w] else 0) + "
      "(X[(4*p - 3)/7 + 1,w] else 0) } H=3 W=300 P=40");
  const auto target = ir::parse_target("x86 isa=avx2 threads=1 l1d=48K l2=1M l3=32M", {});
  REQUIRE((problem && target));
  const std::string text = schedules::default_schedule(problem->program, *target).text();
  CHECK(text.find("partition Y/p") != std::string::npos);
}

TEST_CASE("strides: a vector is cut where lanes leave the tensor, at places that stay") {
  const auto target = ir::parse_target("x86 isa=avx512 threads=1 l1d=48K l2=1M l3=32M", {});
  REQUIRE(target);
  const auto schedule_of = [&](const char* text) {
    const auto problem = ops::parse_problem(text);
    REQUIRE(problem);
    return schedules::default_schedule(problem->program, *target).text();
  };
  const std::string cut = schedule_of(
      "op f(X: f32[P,M]) -> (Y: f32[P,N]) { Y[p,n] = (X[p,(2*n - 1)/4] else 0) + "
      "(X[p,(2*n - 1)/4 + 1] else 0) } P=9 N=60 M=14");
  CHECK(cut.find("partition Y/n") != std::string::npos);
  const std::string rows = schedule_of(
      "op f(X: f32[K,L]) -> (Y: f32[K+4,L]) { Y[k,l] = X[max(0, min(K - 1, k - 2)),l] } K=40 L=2");
  CHECK(rows.find("fuse Y/k Y/l") != std::string::npos);
  const std::string moving =
      schedule_of("op f(X: f32[N,N]) -> (Y: f32[N,N]) { Y[i,j] = select(j < i, X[i,j], 0) } N=60");
  CHECK(moving.find("partition Y/j") == std::string::npos);
}
