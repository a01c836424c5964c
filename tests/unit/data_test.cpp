// SPDX-License-Identifier: Apache-2.0
// Data that kernels are tested and timed on.
#include "jit/interp/data.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <string>

#include "ops/op.h"
#include "runtime/check/fixture.h"

using namespace hone;

TEST_CASE("data: indices and ends are accepted, though their type is narrower than the tensor") {
  for (const char* text :
       {"op g(W: f32[R,N], B: i8[M]) -> (Y: f32[M,N]) { Y[i,j] = W[B[i],j] } R=400 M=500 N=9",
        "op g(W: f32[R], B: i8[M]) -> (Y: f32[M]) { Y[i] = W[399-B[i]] } R=400 M=500",
        "op g(W: f32[R], B: u8[M]) -> (Y: f32[M]) { Y[i] = W[B[i]+100] } R=300 M=500",
        "op r(A: f32[R], B: u8[M+1]) -> (Y: f32[M]) { Y[i] = sum[k in B[i]..B[i+1]](A[k]) } R=900 "
        "M=500"}) {
    CAPTURE(text);
    const auto problem = ops::parse_problem(text);
    REQUIRE_MESSAGE(problem, problem.failure().message);
    for (int set = 0; set < jit::kDataSetCount; ++set) {
      auto fixture = runtime::Fixture::create(*problem, {}, static_cast<jit::DataSet>(set),
                                              runtime::Guard::kAfter, 5);
      REQUIRE(fixture);
      REQUIRE(fixture->refer());
      CHECK_FALSE(fixture->reference().bad);
    }
  }
}

TEST_CASE("data: ranges one after another take most of what they index") {
  // A kernel that is timed on a part of the work is told to be faster than it is.
  const auto problem = ops::parse_problem(
      "op bag(E: f32[R,D], ids: i64[L], offs: i64[B+1]) -> (Y: f32[B,D]) { "
      "Y[b,d] = sum[j in offs[b]..offs[b+1]](E[ids[j],d]) } R=50 D=3 L=20000 B=500");
  REQUIRE(problem);
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    auto fixture =
        runtime::Fixture::create(*problem, {}, jit::DataSet::kIntegers, runtime::Guard::kFar, seed);
    REQUIRE(fixture);
    const jit::TensorView& v = fixture->params()[2];
    const auto* offsets = static_cast<const int64_t*>(v.data);
    CHECK(offsets[v.shape[0] - 1] - offsets[0] > 20000 * 3 / 4);
  }
}

TEST_CASE("data: ranges one after another are timed on all that they index") {
  for (const char* dims : {"G=1 B=1", "G=1 B=500", "G=7 B=3"}) {
    CAPTURE(dims);
    const auto problem = ops::parse_problem(
        std::string("op bag(A: f32[L], offs: i32[G,B+1]) -> (Y: f32[G,B]) { "
                    "Y[g,b] = sum[j in offs[g,b]..offs[g,b+1]](A[j]) } L=20000 ") +
        dims);
    REQUIRE(problem);
    auto fixture =
        runtime::Fixture::create(*problem, {}, jit::DataSet::kTimed, runtime::Guard::kFar, 5);
    REQUIRE(fixture);
    const jit::TensorView& v = fixture->params()[1];
    const auto* offsets = static_cast<const int32_t*>(v.data);
    for (int64_t g = 0; g < v.shape[0]; ++g) {
      CHECK(offsets[g * v.strides[0]] == 0);
      CHECK(offsets[g * v.strides[0] + v.shape[1] - 1] == 20000);
    }
  }
}

TEST_CASE("data: most indices that need not exist do, also in sums and products") {
  for (const char* index : {"B[i] + 3", "B[i] - 7", "299 - B[i]", "2*B[i] + 1", "B[i]"}) {
    CAPTURE(index);
    const auto problem =
        ops::parse_problem("op g(W: i32[R], B: i32[M]) -> (Y: i32[M]) { Y[i] = W[" +
                           std::string(index) + "] else 99 } R=300 M=1000");
    REQUIRE(problem);
    auto fixture =
        runtime::Fixture::create(*problem, {}, jit::DataSet::kTimed, runtime::Guard::kFar, 5);
    REQUIRE(fixture);
    REQUIRE(fixture->refer());
    const jit::TensorView& v = fixture->params()[1];
    std::set<int32_t> drawn;
    for (int64_t i = 0; i < v.shape[0]; ++i) drawn.insert(static_cast<const int32_t*>(v.data)[i]);
    CHECK(drawn.size() > 120);
    for (const int32_t b : drawn) CHECK(std::abs(b) <= 310);
  }
}

TEST_CASE("data: denormals are in all tensors of floats, and rare in large ones") {
  // Products take a hundred times as long with them, and a check takes several runs.
  for (const int64_t elements : {int64_t{1} << 12, int64_t{1} << 14, int64_t{1} << 20}) {
    CAPTURE(elements);
    const auto problem = ops::parse_problem("op copy(X: f32[N]) -> (Y: f32[N]) { Y[i] = X[i] } N=" +
                                            std::to_string(elements));
    REQUIRE(problem);
    auto fixture =
        runtime::Fixture::create(*problem, {}, jit::DataSet::kRandom, runtime::Guard::kAfter, 7);
    REQUIRE(fixture);
    const auto* x = static_cast<const float*>(fixture->params()[0].data);
    const auto found =
        std::count_if(x, x + elements, [](float v) { return std::fpclassify(v) == FP_SUBNORMAL; });
    CHECK(found > 20);
    CHECK(found < 400);
  }
}

TEST_CASE("data: positions of few bits are accepted, and differ") {
  const auto problem = ops::parse_problem(
      "op g(W: f32[R,N], B: i4[N]) -> (Y: f32[N]) { Y[i] = W[B[i],i] } R=9 N=17");
  REQUIRE(problem);
  for (uint64_t seed = 1; seed <= 100; ++seed) {
    auto fixture =
        runtime::Fixture::create(*problem, {}, jit::DataSet::kTimed, runtime::Guard::kAfter, seed);
    REQUIRE(fixture);
    REQUIRE(fixture->refer());
    CHECK_FALSE(fixture->reference().bad);
    const auto* bytes = static_cast<const uint8_t*>(fixture->params()[1].data);
    std::set<int> found;
    for (int i = 0; i < 17; ++i) found.insert(bytes[i / 2] >> (4 * (i % 2)) & 15);
    CHECK(found.size() >= 4);
  }
}
