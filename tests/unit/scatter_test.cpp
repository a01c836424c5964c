// SPDX-License-Identifier: Apache-2.0
//
// What the language promises of scatters beyond results: that oracles and fuzzing compare.
#include "jit/ir/scatter.h"

#include <doctest/doctest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "include/hone/hone.h"
#include "ops/op.h"

using namespace hone;

namespace {

hone::Kernel kernel_of(Engine& engine, const std::string& op, const std::string& problem) {
  return engine.compile(Op::parse(op), problem);
}

Engine engine_for(const std::string& target) {
  EngineOptions o;
  o.target = target;
  o.cache = ":memory:";
  return Engine(o);
}

/// Weights added up by value, as bits.
std::vector<float> sums_by(const std::string& target, const std::vector<uint8_t>& values,
                           const std::vector<float>& weights) {
  Engine engine = engine_for(target);
  const Kernel k =
      kernel_of(engine, "op by(X: u8[N], w: f32[N]) -> (H: f32[256]) { H[X[n]] += w[n] }",
                "N=" + std::to_string(values.size()));
  std::vector<float> sums(256);
  k(values, weights, sums);
  return sums;
}

}  // namespace

TEST_CASE("scatter: sums are the same whatever threads there are") {
  std::vector<uint8_t> values;
  std::vector<float> weights;
  constexpr uint32_t kTerms = (1U << 22) + 5;  // enough for parts
  uint32_t random = 1;
  for (uint32_t i = 0; i < kTerms; ++i) {
    random = random * 1664525U + 1013904223U;
    values.push_back(static_cast<uint8_t>(random >> 24));
    weights.push_back(static_cast<float>(random & 0xFFFF) / 257);
  }
  const auto one = sums_by("x86 isa=avx2 threads=1", values, weights);
  CHECK(one == sums_by("x86 isa=avx2 threads=2", values, weights));
  CHECK(one == sums_by("x86 isa=avx2 threads=7", values, weights));
}

TEST_CASE("scatter: a bad position is told, the lowest, and nothing is written") {
  Engine engine = engine_for("");
  const Kernel k = kernel_of(
      engine, "op put(V: f32[N], ids: i64[N], inout Y: f32[R]) { Y[ids[n]] = V[n] }", "N=4 R=3");
  std::vector<float> v{1, 2, 3, 4}, y{7, 8, 9};
  std::vector<int64_t> ids{0, 1, 3, -1};
  std::string told;
  try {
    k(v, ids, y);
  } catch (const Error& e) {
    CHECK(e.code() == ErrorCode::kBounds);
    told = e.what();
  }
  CHECK(told.find("it gives 3") != std::string::npos);
  CHECK(y == std::vector<float>{7, 8, 9});
  ids = {2, 0, 2, 0};
  k(v, ids, y);
  CHECK(y == std::vector<float>{4, 8, 3});
}

TEST_CASE("scatter: terms put in the order of rows are added in their own") {
  constexpr size_t kTerms = 8192, kRows = 2000, kRow = 64;
  Engine engine = engine_for("x86 isa=avx2 l2=1M");
  const Kernel k = kernel_of(
      engine, "op add(V: f32[N,D], ids: i64[N]) -> (Y: f32[R,D]) { Y[ids[n],d] += V[n,d] }",
      "N=8192 D=64 R=2000");
  REQUIRE(k.schedule().find("group Y/at.0") != std::string::npos);
  std::vector<float> v(kTerms * kRow), y(kRows * kRow), expected(kRows * kRow);
  std::vector<int64_t> ids(kTerms);
  uint32_t random = 1;
  const auto next = [&] { return (random = random * 1664525U + 1013904223U) >> 8; };
  for (float& x : v) x = static_cast<float>(next()) / 257;
  for (int64_t& id : ids) id = next() % kRows;
  for (size_t n = 0; n < kTerms; ++n) {
    for (size_t d = 0; d < kRow; ++d) {
      expected[static_cast<size_t>(ids[n]) * kRow + d] += v[n * kRow + d];
    }
  }
  k(v, ids, y);
  CHECK(y == expected);
}

TEST_CASE("scatter: which indices terms tell") {
  const auto problem = ops::parse_problem(
      "op f(ids: i64[B,N], V: f32[B,N]) -> (Y: f32[B,R,2]) { Y[b, ids[b,n], n%2] += V[b,n] where "
      "n > b } B=2 N=3 R=4");
  REQUIRE(problem);
  const ir::Stage& s = problem->program.stages[0];
  const auto scattered = ir::scattered_vars(s);
  REQUIRE(scattered.size() == 2);
  CHECK(scattered[0].var == "at.1");
  CHECK(scattered[1].var == "at.2");
  CHECK_FALSE(ir::scattered_to(s, "b"));
  CHECK(ir::print(ir::where_of_terms(s)) == "b < n");
}
