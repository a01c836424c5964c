// SPDX-License-Identifier: Apache-2.0
// Which integers are summed in a narrower type, and in what parts.
#include <doctest/doctest.h>

#include <string>

#include "ops/op.h"
#include "schedules/space/space.h"
#include "tests/support/programs.h"

using namespace hone;

namespace {

const char* kTargets[] = {"x86 isa=avx512 threads=1 l1d=48K l2=1M l3=32M",
                          "x86 isa=avx2 threads=1 l1d=48K l2=1M l3=32M"};

}  // namespace

TEST_CASE("narrow sums: small integers are summed in a narrow type, part by part") {
  const struct {
    const char* problem;
    const char* type;  ///< of partial sums
    int64_t terms;     ///< of a part; 0: no stage has parts
  } rows[] = {
      {"op f(X: u8[M,N]) -> (Y: i32[N]) { Y[j] = sum[i](X[i,j]) } M=1000 N=1000", "i16", 125},
      {"op f(A: u8[M,K], B: u8[N,K]) -> (Y: i64[M,N]) { "
       "Y[i,j] = sum[k](select(A[i,k] != B[j,k], 1, 0)) } M=100 N=100 K=256",
       "i8", 64},
      // One part is all.
      {"op f(X: u8[H,W]) -> (Y: u8[H,W]) { "
       "Y[i,j] = cast<u8>(sum[r in 0..3,q in 0..3](X[i+r-1,j+q-1] else 0)/9) } H=99 W=512",
       "i16", 9},
      // Products have instructions, and 16 bits hold few sums of 16-bit integers.
      {"op f(A: u8[M,K], B: i8[K,N]) -> (Y: i32[M,N]) { Y[i,j] = sum[k](A[i,k]*B[k,j]) } "
       "M=64 N=64 K=64",
       "i16", 0},
      {"op f(X: i16[M,N]) -> (Y: i32[N]) { Y[j] = sum[i](X[i,j]) } M=1000 N=1000", "i16", 0},
  };
  for (const char* machine : kTargets) {
    const ir::Target target = tests::target_named(machine);
    for (const auto& row : rows) {
      CAPTURE(row.problem);
      const auto problem = ops::parse_problem(row.problem);
      REQUIRE(problem);
      const std::string steps = schedules::default_schedule(problem->program, target).text();
      const bool whole = steps.find("narrow Y") != std::string::npos;
      const std::string part = whole ? "" : " " + std::to_string(row.terms) + " ->";
      const bool parted = whole || steps.find("split_reduction") != std::string::npos;
      CHECK_MESSAGE(parted == (row.terms != 0), steps);
      if (!parted) continue;
      CHECK_MESSAGE(steps.find(part) != std::string::npos, steps);
      const std::string text = print(tests::by_default(row.problem, target));
      CHECK_MESSAGE(text.find(std::string(": ") + row.type + "](") != std::string::npos, text);
    }
  }
}
