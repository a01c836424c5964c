// SPDX-License-Identifier: Apache-2.0
#include "ops/op.h"

#include <doctest/doctest.h>

#include <string>

using hone::ops::Op;
using hone::ops::parse_problem;
using hone::ops::stock_library;

namespace {

/// Text of a stage's definition in a problem's program, or the error.
std::string stage_text(const char* problem, const char* stage) {
  const auto p = parse_problem(problem);
  if (!p) return p.failure().message;
  const std::string text = print(p->program);
  const size_t at = text.find(std::string("stage ") + stage + ":");
  REQUIRE(at != std::string::npos);
  return text.substr(at, text.find('\n', at) - at);
}

}  // namespace

TEST_CASE("ops: a statement becomes a stage, a reduction inside it one of its own") {
  CHECK(stage_text("matmul M=4 N=8 K=2", "C") ==
        "stage C: C[m,n] = sum[k in 0..2: f32](A[m,k]*B[k,n])");
  CHECK(stage_text("fc_gelu M=4 N=8 K=2 T=bf16", "Y.1") ==
        "stage Y.1: Y.1[m,n] = sum[k in 0..2: f32](cast<f32>(A[m,k])*cast<f32>(W[k,n]))");
  CHECK(stage_text("fc_gelu M=4 N=8 K=2 T=bf16", "Y") ==
        "stage Y: Y[m,n] = cast<bf16>(gelu(Y.1[m,n] + cast<f32>(b[n])))");
  CHECK(stage_text("softmax M=4 N=8", "s") == "stage s: s[i] = sum[j in 0..8: f32](e[i,j])");
}

TEST_CASE("ops: stock ops parse, print and parse back, and all cases bind") {
  for (const Op& op : stock_library().ops) {
    const auto again = Op::parse(op.text());
    REQUIRE_MESSAGE(again, op.text());
    CHECK(again->text() == op.text());
  }
  for (const hone::ops::Case& c : stock_library().cases) {
    const auto p = parse_problem(c.problem);
    REQUIRE_MESSAGE(p, (p ? "" : p.failure().message));
    const auto again = parse_problem(p->text);
    REQUIRE_MESSAGE(again, p->text);
    CHECK(again->text == p->text);
  }
}
