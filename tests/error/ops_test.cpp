// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <sstream>
#include <string>

#include "ops/op.h"
#include "tests/support/golden.h"

namespace {

/// The error of a text that must have one: of the op alone where a text has no bindings.
std::string error_of(const std::string& text) {
  const bool op_alone = (text.starts_with("op ") || text.starts_with("fn ")) &&
                        text.find('=', text.rfind('}')) == text.npos;
  if (text.starts_with("case ")) {
    const auto library = hone::ops::parse_library(text + "\nmore", "mine.hone");
    return library ? "no error" : library.failure().message;
  }
  if (op_alone) {
    const auto op = hone::ops::Op::parse(text);
    if (!op) return op.failure().message;
  }
  const auto problem = hone::ops::parse_problem(text);
  return problem ? "no error" : problem.failure().message;
}

}  // namespace

TEST_CASE("errors: what the language says of bad texts") {
  hone::tests::check_golden("ops/errors.txt", error_of);
}

TEST_CASE("errors: a library's error names the file and the line") {
  const auto library = hone::ops::parse_library(
      "# mine\n\nop f(A: f32[M]) -> (Y: f32[M]) {\n  Y[i] = A[i]\n  + B[i]\n}\n", "mine.hone");
  REQUIRE_FALSE(library);
  CHECK(library.failure().message ==
        "mine.hone:5:5: there is no tensor `B`; tensors here are A\n    + B[i]\n      ^~~~");
  CHECK(library.failure().code == hone::ErrorCode::kSemantic);
  const auto op = hone::ops::Op::parse("op f(\n");
  REQUIRE_FALSE(op);
  CHECK(op.failure().code == hone::ErrorCode::kSyntax);
  CHECK(hone::ops::parse_problem("nothing").failure().code == hone::ErrorCode::kNotFound);
}

TEST_CASE("errors: all that is wrong in a file is told, names that are unused after the rest") {
  const auto library = hone::ops::parse_library(
      "fn f(A: f32[M]) -> (Y: f32[M]) { Y[i] = A[i] }\n"
      "op g(A: f32[M], B: f32[M]) -> (Y: f32[M]) {\n"
      "  t[i] = sum[k](A[k] *\n"
      "    C[k] D[k])\n"
      "  u[i] = (A[i] + 1\n"
      "  Y[i] = t[i] + z\n"
      "}\n"
      "case tiny g M=1\n"
      "op h(A: f32[M] -> (Y: f32[M]) { Y[i] = A[i] + }\n"
      "op k(A: i32[M], b: f32) -> (Y: f32[M]) { Y[i] = A[i] }\n",
      "mine.hone");
  REQUIRE_FALSE(library);
  std::string places;
  std::istringstream lines(library.failure().message);
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("mine.hone:")) places += line.substr(10, line.find(' ') - 11) + " ";
  }
  CHECK(places == "1:7 4:10 6:3 6:17 8:1 9:16 9:47 10:49 10:17 ");
}

TEST_CASE("errors: a file's cases name an op and what it takes, before it or behind") {
  const std::string file =
      "case small f M=3\n"
      "op f(A: f32[M]) -> (Y: f32[M]) { Y[i] = A[i] }\n"
      "op g(A: f32[M]) -> (Y: f32[M]) { Y[i] = A[k] }\n"
      "case small softmax M=3 N=4  # a stock op\n"
      "case small h M=3\n"
      "  case bench f M=q N=4  # two mistakes\n"
      "case small g Q=1\n"
      "case bench f \n";
  const auto places = [](const hone::Failure& failure) {
    std::string all;
    std::istringstream lines(failure.message);
    for (std::string line; std::getline(lines, line);) {
      if (line.starts_with("mine.hone:")) all += line.substr(10, line.find(' ') - 11) + " ";
    }
    return all;
  };
  // Of `g`, which is wrong itself, nothing more is said.
  const auto library = hone::ops::parse_library(file, "mine.hone");
  REQUIRE_FALSE(library);
  CHECK(places(library.failure()) == "3:43 5:12 6:18 6:20 8:13 ");
  CHECK(library.failure().message.find("`f` has nothing named `N`") != std::string::npos);

  // Ops of another file, which was read before, count as well.
  const auto other = hone::ops::parse_library("op h(A: f32[M]) -> (Y: f32[M]) { Y[i] = A[i] }", "");
  REQUIRE(other);
  const auto both =
      hone::ops::parse_library("case small h M=3\ncase small h N=3\n", "mine.hone", &*other);
  REQUIRE_FALSE(both);
  CHECK(places(both.failure()) == "2:14 2:17 ");
}

TEST_CASE("errors: a hostile text gets a few errors, soon") {
  std::string text = "op f(A: f32[M]) -> (Y: f32[M]) {\n";
  for (int i = 0; i < 80000; ++i) text += "t[\n$a[i] = ;";
  const auto op = hone::ops::Op::parse(text);
  REQUIRE_FALSE(op);
  CHECK(op.failure().message.size() < 20000);
  CHECK(op.failure().message.find("there may be more") != std::string::npos);
}
