// SPDX-License-Identifier: Apache-2.0
// Dear scalars in front of the loops that would repeat them.
#include "jit/passes/loop_invariants.h"

#include <doctest/doctest.h>

#include <cmath>
#include <string>
#include <vector>

#include "include/hone/hone.h"
#include "jit/passes/lower.h"
#include "ops/op.h"
#include "schedules/schedule.h"
#include "tests/support/programs.h"

using namespace hone;

namespace {

/// The nest of an op, scheduled, after the pass; "" where it changes nothing.
std::string moved(const std::string& text, const char* steps) {
  const auto problem = ops::parse_problem(text);
  REQUIRE_MESSAGE(problem, problem.failure().message);
  const auto schedule = schedules::Schedule::parse(steps);
  REQUIRE(schedule);
  const auto scheduled = schedules::apply(problem->program, *schedule);
  REQUIRE_MESSAGE(scheduled, scheduled.failure().text());
  const auto nest = jit::lower(*scheduled, tests::target_named("x86 isa=avx2 threads=1"));
  REQUIRE(nest);
  const auto out = jit::with_invariants_outside(*nest);
  return out ? print(*out) : "";
}

/// Rows of which each has its `a[i]`, and all have `s`.
std::string rows(const std::string& value, const std::string& dims = "M=5 N=64") {
  return "op p(X: f32[M,N], a: f32[M], s: f32) -> (Y: f32[M,N]) { Y[i,j] = min(" + value +
         ", a[i] + s) } " + dims;
}

int count(const std::string& text, const std::string& part) {
  int n = 0;
  for (size_t at = text.find(part); at != text.npos; at = text.find(part, at + 1)) ++n;
  return n;
}

bool has(const std::string& text, const std::string& part) { return count(text, part) > 0; }

constexpr const char* kVector = "vectorize Y/j";

}  // namespace

TEST_CASE("loop invariants: a row's value stands in front of its vectors, once") {
  const std::string once = moved(rows("X[i,j]/exp(a[i]) + exp(a[i])"), kVector);
  CHECK(has(once, "[0] = exp(a[Y/i])\n"));
  CHECK(count(once, "exp(") == 1);
  // What follows no index leaves all loops.
  const std::string all = moved(rows("X[i,j] - tanh(s)"), "split Y/i 2 -> o l tail=peel");
  CHECK(all.find("before Y") < all.find("[0] = tanh(s)\nlaunch Y"));
  CHECK(has(all, "[0] = tanh(s)\nlaunch Y"));
  CHECK(count(all, "tanh(s)") == 1);
  // Two loops beside each other share it.
  const std::string halves = moved(rows("X[i,j] - tanh(a[i])", "M=5 N=70"),
                                   "split Y/j 32 -> o l tail=peel; vectorize Y/l");
  CHECK(count(halves, "tanh(") == 1);
}

TEST_CASE("loop invariants: what must stay stays") {
  // Cheap values, and what differs between iterations.
  CHECK(moved(rows("X[i,j]*(a[i] + s)"), kVector).empty());
  CHECK(moved(rows("exp(X[i,j] + a[i])"), kVector).empty());
  // A term that a sum adds unrounded: its factors leave, the product does not.
  const std::string product = moved(rows("X[i,j] + exp(a[i])*exp(s)"), kVector);
  CHECK(has(product, "[0] = exp(a[Y/i])\n"));
  CHECK_FALSE(has(product, "exp(a[Y/i])*"));
}

TEST_CASE("loop invariants: what may not be there is asked for before it is read") {
  const std::string open = moved(rows("X[i,j] - exp(a[0])", "M=0..3 N=1..9"), kVector);
  CHECK(has(open, "[0] = exp(a[0] if (0 < M) else 0.0)\n"));
  // Without iterations there may be nothing to read, whatever is asked.
  const std::string empty = moved(rows("X[i,j] - exp(a[0])", "M=0..3 N=0..9"), kVector);
  CHECK_FALSE(has(empty, "[0] = exp(a[0] if (0 < M) else 0.0)\n"));
  const std::string choice = "select(0 < j && 0 < i, exp(a[i - 1]), X[i,j])";
  CHECK(has(moved(rows(choice), kVector), "[0] = exp(a[Y/i - 1] if (0 <= Y/i - 1) else 0.0)\n"));
}

TEST_CASE("loop invariants: what a choice asks for leaves it, where it is read in any case") {
  const auto quotient = [](const char* condition) {
    return moved("op p(X: f32[M,N], a: f32[M], b: f32[M]) -> (Y: f32[M,N]) { Y[i,j] = select(" +
                     std::string(condition) + ", X[i,j]/exp(a[i]), b[i]) } M=5 N=64",
                 kVector);
  };
  CHECK(has(quotient("a[i] > 0"), "[0] = exp(a[Y/i])\n"));
  CHECK_FALSE(has(quotient("b[i] > 0"), "[0] = exp(a[Y/i])\n"));
  CHECK_FALSE(has(quotient("b[i] > 0 && a[i] > 0"), "[0] = exp(a[Y/i])\n"));
}

TEST_CASE("loop invariants: a value is computed behind what it reads") {
  const std::string nest = moved(
      "op p(X: f32[M,N]) -> (Y: f32[M,N]) { m[i] = max[j](X[i,j]); Y[i,j] = X[i,j]/exp(m[i]) } "
      "M=5 N=64",
      "compute m at Y/i in=registers; vectorize Y/j");
  CHECK(count(nest, "[0] = exp(m[0])") == 1);
  CHECK(nest.find("max=") < nest.find("[0] = exp(m[0])"));
  CHECK(nest.find("[0] = exp(m[0])") < nest.find("vec Y/j"));
}

TEST_CASE("loop invariants: kernels give what the plain loops give, bit by bit") {
  EngineOptions options;
  options.cache = ":memory:";
  Engine engine(options);
  for (const char* value :
       {"X[i,j]/exp(a[i]) + exp(a[i])", "X[i,j] + exp(a[i])*tanh(s)", "max(X[i,j], sigmoid(s))*s",
        "select(j%2 == 0, exp(a[i]), X[i,j]/cosh(s + a[i]))", "-(exp(a[i])*exp(s)) + X[i,j]"}) {
    const std::string text = rows(value, "M=7 N=83");
    std::vector<float> x(7 * 83), a(7), plain(x.size()), y(x.size());
    for (size_t i = 0; i < x.size(); ++i) x[i] = std::sin(static_cast<float>(i));
    for (size_t i = 0; i < a.size(); ++i) a[i] = std::cos(static_cast<float>(i));
    engine.compile(text, {.schedule = ""})(x, a, 0.75f, plain);
    for (const char* steps :
         {kVector, "split Y/j 32 -> o l tail=peel; vectorize Y/l",
          "split Y/j 16 -> o l tail=mask; vectorize Y/l; reorder Y/o Y/i Y/l"}) {
      engine.compile(text, {.schedule = steps})(x, a, 0.75f, y);
      CHECK_MESSAGE(y == plain, text << " | " << steps);
    }
  }
}
