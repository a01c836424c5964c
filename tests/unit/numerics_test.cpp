// SPDX-License-Identifier: Apache-2.0
// What the numerics class tells apart: schedules whose sums add in another order.
#include "schedules/numerics.h"

#include <doctest/doctest.h>

#include <string>

#include "ops/op.h"
#include "schedules/schedule.h"

using namespace hone;

namespace {

std::string class_of(const std::string& problem, const std::string& schedule) {
  const auto parsed = ops::parse_problem(problem);
  REQUIRE_MESSAGE(parsed, parsed.failure().message);
  const auto applied = schedules::apply(parsed->program, *schedules::Schedule::parse(schedule));
  REQUIRE_MESSAGE(applied, applied.failure().text());
  return schedules::numerics_class(parsed->program, *applied);
}

const std::string kWide = "op f(A: f64[N]) -> (Y: f32[]) { Y[] = sum[j](cast<f32>(A[j])) } N=89";

}  // namespace

TEST_CASE("numerics: wider elements beside a sum leave fewer lanes for it") {
  const std::string parts = "split Y/j 16 -> o i tail=peel; rfactor Y i -> P; vectorize Y/i";
  const std::string inside = parts + "; reorder P/o P/i; vectorize P/i";
  CHECK(class_of(kWide, parts) == "Y:lanes(j%16)[seq]");
  CHECK(class_of("row_sum M=1 N=89", "vectorize Y/j") == "Y:lanes(j)");
  CHECK(class_of(kWide, "vectorize Y/j") == "Y:lanes8(j)");
  // In memory partial results are f32 alone; in registers they lie as what fills them does.
  CHECK(class_of(kWide, inside) == class_of(kWide, parts));
  const std::string rows =
      "op f(A: f64[M,N]) -> (Y: f32[M]) { Y[b] = sum[j](cast<f32>(A[b,j])) } M=1 N=89";
  CHECK(class_of(rows, parts + "; compute P at Y/b in=registers; vectorize P/i") ==
        "Y:lanes8(j%16)[seq]");
}

TEST_CASE("numerics: a loop that is cut again runs no last block apart") {
  const std::string peeled = class_of(kWide, "split Y/j 16 -> o i tail=peel; vectorize Y/i");
  const std::string cut =
      class_of(kWide, "split Y/j 16 -> o i tail=peel; split Y/o 1 -> p q; vectorize Y/i");
  CHECK(peeled == "Y:j/16peel,lanes8(j%16peel)");
  CHECK(cut == class_of(kWide, "split Y/j 16 -> o i tail=mask; vectorize Y/i"));
}

TEST_CASE("numerics: a row that runs apart has terms of a known number") {
  const std::string triangle =
      "op f(A: f32[M,M]) -> (Y: f32[M]) { Y[i] = sum[j in 0..i+1](A[i,j]) } M=50";
  const std::string vectors = "predicate Y/j; vectorize Y/j";
  CHECK(class_of(triangle, vectors) == class_of(triangle, "vectorize Y/j"));
  CHECK(class_of(triangle, vectors + "; partition Y/i") != class_of(triangle, vectors));
}
