// SPDX-License-Identifier: Apache-2.0
// Indices that wrap around go in periods, in which elements lie as they do in the tensor.
#include <doctest/doctest.h>

#include <string>

#include "jit/passes/lower.h"
#include "schedules/model/model.h"
#include "schedules/schedule.h"
#include "tests/support/programs.h"

using namespace hone;

namespace {

/// Lanes that the default schedule reads or writes one by one.
double scattered(const std::string& problem, const std::string& isa) {
  const ir::Target target =
      tests::target_named("x86 isa=" + isa + " threads=1 l1d=32K l2=1M l3=32M");
  const auto nest = jit::lower(tests::by_default(problem, target), target);
  REQUIRE(nest);
  return schedules::terms_of(*nest, target)[static_cast<size_t>(schedules::Term::kScattered)];
}

}  // namespace

TEST_CASE("periods: remainders by no multiple of a vector are read as they lie") {
  for (const char* isa : {"avx2", "avx512"}) {
    CAPTURE(isa);
    for (const char* text : {
             "tile A=1 B=2 C=2 D=39 I=1 J=32 K=2 L=512",
             "op f(X: f32[300], A: f32[N]) -> (Y: f32[N]) { Y[j] = A[j]*X[j%300] } N=999",
             "op f(X: u8[26,139]) -> (Y: u8[N]) { Y[j] = X[j/139%26,j%139] } N=9000",
             "op f(X: f16[39], A: f16[N]) -> (Y: f16[N]) { Y[j] = A[j]*X[(j + 78)%39] } N=9000",
             // Of two divisors what both are multiples of.
             "op f(X: f32[36], A: f32[60]) -> (Y: f32[N]) { Y[j] = A[j%60]*X[j%36] } N=9000",
         }) {
      CHECK_MESSAGE(scattered(text, isa) == 0, text);
    }
  }
  // Quotients in blocks after which they repeat, and rows that a border cuts once.
  for (const char* text :
       {"op f(X: f32[90], s: f32[N]) -> (Y: f32[N]) { Y[q] = X[9*q/128]*s[q] } N=1280",
        "op f(X: f32[90], s: f32[N]) -> (Y: f32[N]) { Y[q] = X[5*q/96]*s[q] } N=1280",
        "op f(X: f32[9], s: f32[N]) -> (Y: f32[N]) { Y[q] = X[min(8,q/2)]*s[q] } N=128"}) {
    CHECK_MESSAGE(scattered(text, "avx512") == 0, text);
  }
  // Steps of more than an element.
  CHECK(scattered("op f(X: f32[39]) -> (Y: f32[N]) { Y[j] = X[j*7%39] } N=9000", "avx512") > 0);
}
