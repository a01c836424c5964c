// SPDX-License-Identifier: Apache-2.0
// Functions of one's own: written out where they are called, in every text that may have them.
#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "include/hone/hone.h"
#include "ops/definition.h"
#include "ops/op.h"

using hone::ops::Op;
using hone::ops::parse_library;
using hone::ops::parse_problem;

namespace {

std::string canonical(const std::string& text) {
  const auto op = Op::parse(text);
  REQUIRE_MESSAGE(op, (op ? "" : op.failure().message));
  return op->text();
}

const std::string kOp = "op g(A: f32[M]) -> (Y: f32[M]) { Y[i] = ";

}  // namespace

TEST_CASE("own functions: a call is its body, with parentheses where they are needed") {
  CHECK(canonical("fn f(x) = x*x; " + kOp + "f(A[i] + 1) }") == kOp + "(A[i] + 1)*(A[i] + 1) }");
  CHECK(canonical("fn f(x, y) = x - y\n" + kOp + "2*f(A[i], -f(1, A[i])) }") ==
        kOp + "2*(A[i] - -(1 - A[i])) }");
  CHECK(canonical("fn f(x) = select(x > 0, x, -cast<f32>(x))\nfn h(x) = f(f(x)) # twice\n" + kOp +
                  "h(A[i]) }") ==
        kOp +
            "select(select(A[i] > 0,A[i],-cast<f32>(A[i])) > 0,select(A[i] > 0,A[i],"
            "-cast<f32>(A[i])),-cast<f32>(select(A[i] > 0,A[i],-cast<f32>(A[i])))) }");
  // A parameter called like a tensor, an index or a dim is the parameter.
  CHECK(canonical("fn f(i, A, M) = i*A + M; " + kOp + "f(A[i], cast<f32>(i), M) }")
            .find("A[i]*cast<f32>(i) + M") != std::string::npos);
}

TEST_CASE("own functions: the canonical text says the same without them") {
  for (const char* value : {"f(A[i])", "f(f(A[i]*2))", "max(f(1), f(A[i]))"}) {
    const std::string text = canonical("fn f(x) = x / (1 + abs(x)); " + kOp + value + " }");
    CHECK(text.find("fn ") == std::string::npos);
    CHECK(canonical(text) == text);
  }
}

TEST_CASE("own functions: in a problem and in a file, for the ops behind") {
  const std::string f = "fn f(x) = x*x + 1\n";
  const auto problem = parse_problem(f + kOp + "f(A[i]) } M=3");
  REQUIRE(problem);
  CHECK(problem->text == kOp + "A[i]*A[i] + 1 } M=3");
  const auto library = parse_library(
      f + "op a(A: f32[M]) -> (Y: f32[M]) { Y[i] = f(A[i]) }\ncase small a M=3\nfn h(x) = f(x)/2\n"
          "op b(A: f32[M]) -> (Y: f32[M]) { Y[i] = h(A[i]) + f(1) }\n",
      "mine.hone");
  REQUIRE(library);
  REQUIRE(library->ops.size() == 2);
  CHECK(library->ops[1].text().find("(A[i]*A[i] + 1)/2 + (1*1 + 1)") != std::string::npos);
  const auto early =
      parse_library("op a(A: f32[M]) -> (Y: f32[M]) { Y[i] = f(A[i]) }\n" + f, "mine.hone");
  REQUIRE_FALSE(early);
  CHECK(early.failure().message.find("there is no function `f`") != std::string::npos);
}

TEST_CASE("own functions: an argument that is reduced is reduced once") {
  const auto problem = parse_problem(
      "fn f(x) = x*x + x; op g(A: f32[M,K]) -> (Y: f32[M]) { Y[i] = f(sum[k](A[i,k])) } M=3 K=2");
  REQUIRE(problem);
  CHECK(problem->definition.stages.size() == 2);
  hone::Engine engine({.cache = ":memory:"});
  const hone::Kernel kernel = engine.compile(problem->text);
  const std::vector<float> a = {1, 2, 3, 4, 5, 6};
  std::vector<float> y(3);
  kernel(hone::TensorRef(a.data(), {3, 2}), y);
  CHECK(y == std::vector<float>{12, 56, 132});
}

TEST_CASE("own functions: one that grows without end is an error, soon") {
  std::string text = "fn f0(x) = x*x\n";
  for (int i = 1; i < 60; ++i) {
    const std::string n = std::to_string(i), before = std::to_string(i - 1);
    text += "fn f" + n + "(x) = f" + before + "(x) * f" + before + "(x + 1)\n";
  }
  const auto op = Op::parse(text + kOp + "f59(A[i]) }");
  REQUIRE_FALSE(op);
  CHECK(op.failure().message.find("more than 4096 names, numbers and operators") !=
        std::string::npos);
}
