// SPDX-License-Identifier: Apache-2.0
// Running values that some lanes alone update, where vectors have no masks.
#include "jit/passes/chosen_updates.h"

#include <doctest/doctest.h>

#include <string>

#include "jit/passes/lower.h"
#include "ops/op.h"
#include "schedules/schedule.h"
#include "tests/support/programs.h"

using namespace hone;

namespace {

/// The nest of rows of a triangle times a vector, after the pass; "" where it changes nothing.
std::string chosen(const std::string& statement, const char* steps) {
  const auto problem = ops::parse_problem("op p(X: f32[M,N], a: f32[M]) -> (Y: f32[N]) { " +
                                          statement + " } M=64 N=64");
  REQUIRE_MESSAGE(problem, problem.failure().message);
  const auto schedule = schedules::Schedule::parse(steps);
  REQUIRE(schedule);
  const auto scheduled = schedules::apply(problem->program, *schedule);
  REQUIRE_MESSAGE(scheduled, scheduled.failure().text());
  const auto nest = jit::lower(*scheduled, tests::target_named("x86 isa=avx2 threads=1"));
  REQUIRE(nest);
  const auto out = jit::with_chosen_updates(*nest);
  return out ? print(*out) : "";
}

bool has(const std::string& text, const char* part) { return text.find(part) != text.npos; }

constexpr const char* kTiled =
    "predicate Y/k; split Y/j 16 -> j.o j.i tail=peel; reorder Y/j.o Y/k Y/j.i; stage Y at Y/j.o "
    "-> T in=registers; vectorize T/j Y/j.i";

}  // namespace

TEST_CASE("chosen updates: lanes keep what a condition on indices leaves alone") {
  const std::string sums = chosen("Y[j] = sum[k in 0..j+1](a[k]*X[k,j])", kTiled);
  CHECK(has(sums, "T[T/j] = select(T/k < 16*Y/j.o + T/j + 1,T[T/j] + "));
  CHECK_FALSE(has(sums, "sum="));
  CHECK(has(chosen("Y[j] = max[k in j..M](a[k]*X[k,j])", kTiled), "max(T[T/j],a["));
}

TEST_CASE("chosen updates: a branch that data decide, or around memory, stays") {
  // All lanes take the same branch.
  CHECK(chosen("Y[j] = sum[k in 0..M](a[k]*X[k,j])",
               "split Y/j 16 -> j.o j.i tail=peel; reorder Y/j.o Y/k Y/j.i; stage Y at Y/j.o -> T "
               "in=registers; vectorize T/j Y/j.i") == "");
  CHECK(chosen("Y[j] = sum[k in 0..j+1](a[k]*X[k,j])",
               "predicate Y/k; reorder Y/k Y/j; vectorize Y/j") == "");
}
