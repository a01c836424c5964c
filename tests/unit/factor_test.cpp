// SPDX-License-Identifier: Apache-2.0
// Products of several factors under a sum: which order the rule takes, what it leaves alone, what
// the order is called, and that the bound knows it.
#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "jit/interp/compare.h"
#include "ops/op.h"
#include "runtime/machine/host.h"
#include "runtime/measure/bound.h"
#include "runtime/measure/work.h"
#include "schedules/numerics.h"
#include "schedules/schedule.h"
#include "schedules/space/space.h"
#include "tests/support/programs.h"

using namespace hone;

namespace {

constexpr const char* kX86 = "x86 isa=avx512 threads=1 l1d=48K l2=1M l3=32M";

/// An op of tensors and one statement.
std::string op(const std::string& tensors, const std::string& statement, const std::string& dims) {
  return "op f(" + tensors + ") { " + statement + " } " + dims;
}
const std::string kChain = op("A: f32[I,J], B: f32[J,K], C: f32[K,L]) -> (Y: f32[I,L]",
                              "Y[i,l] = sum[j,k](A[i,j]*B[j,k]*C[k,l])", "");

ir::Program program_of(const std::string& problem) {
  const auto parsed = ops::parse_problem(problem);
  REQUIRE_MESSAGE(parsed, parsed.failure().message);
  return parsed->program;
}

/// The `factor` steps of the first structure, `;` between.
std::string factors_in(const std::string& problem, const char* target = kX86) {
  std::string out;
  const auto program = program_of(problem);
  for (const std::string& step :
       schedules::default_schedule(program, tests::target_named(target)).texts()) {
    if (step.starts_with("factor ")) out += (out.empty() ? "" : "; ") + step;
  }
  return out;
}

/// What the rule says of a stage.
std::string reason(const std::string& problem, const std::string& stage) {
  for (const auto& t : schedules::explain(program_of(problem), tests::target_named(kX86))) {
    if (t.rule == "factor" && t.stage == stage) return t.applied ? "applied" : t.what;
  }
  return "not tried";
}

runtime::Work work(const std::string& problem) {
  const ir::Program program = program_of(problem);
  return runtime::work_of(program, runtime::timing_dims(program), tests::target_named(kX86));
}

std::string class_of(const std::string& problem, const std::string& schedule) {
  const ir::Program program = program_of(problem);
  const auto applied = schedules::apply(program, *schedules::Schedule::parse(schedule));
  REQUIRE_MESSAGE(applied, applied.failure().text());
  return schedules::numerics_class(program, *applied);
}

}  // namespace

TEST_CASE("factor: the sizes decide which matrices of a chain meet first") {
  CHECK(factors_in(kChain + "I=256 J=256 K=256 L=256") == "factor Y 0 1 -> Y.f");
  CHECK(factors_in(kChain + "I=512 J=256 K=256 L=32") == "factor Y 1 2 -> Y.f");
  CHECK(factors_in(kChain + "I=32 J=256 K=256 L=512") == "factor Y 0 1 -> Y.f");
  // Constants are multiplied when they are bound, whatever that takes.
  CHECK(factors_in(kChain + "I=64 J=256 K=256 L=256 const=B,C") == "factor Y 1 2 -> Y.f");
  const std::string four =
      op("A: f32[I,J], B: f32[J,K], C: f32[K,L], x: f32[L]) -> (Y: f32[I]",
         "Y[i] = sum[j,k,l](A[i,j]*B[j,k]*C[k,l]*x[l])", "I=200 J=200 K=200 L=200");
  CHECK(factors_in(four) == "factor Y 2 3 -> Y.f; factor Y 1 2 -> Y.ff");
}

TEST_CASE("factor: what no reduced index touches leaves the sum") {
  CHECK(factors_in("matmul_scaled M=128 N=128 K=128") == "factor Y 1 2 -> Y.f");
  CHECK(factors_in("mttkrp I=128 J=64 K=64 R=32") == "factor Y 1 2 -> Y.f");
  CHECK(factors_in("tucker P=16 Q=16 S=16 I=64 J=64 K=64").size() > 30);
  // A factor that is summed by itself.
  const std::string apart = op("A: f32[I,J], b: f32[K]) -> (Y: f32[I]",
                               "Y[i] = sum[j,k](A[i,j]*b[k])", "I=100 J=100 K=100");
  CHECK(factors_in(apart) != "");
}

TEST_CASE("factor: constants are multiplied ahead where reading the product takes less") {
  const auto weights = [](const char* rows) {
    return std::string("matmul_i4 N=4096 K=4096 const=W,S M=") + rows;
  };
  // Floats of 64 MB, of which a core takes 4 bytes a cycle here.
  const char* server = "x86 isa=avx512 cpu=intel-06-a7 threads=1 l1d=48K l2=2M l3=480M";
  CHECK(factors_in(weights("8"), server) == "factor Y 0 1 -> Y.f");
  CHECK(factors_in(weights("32"), server) == "factor Y 0 1 -> Y.f");
  CHECK(factors_in(weights("128"), server) == "factor Y 1 2 -> Y.f");
  const char* desktop = "x86 isa=avx512 cpu=amd-1a-44 threads=1 l1d=48K l2=1M l3=32M";
  CHECK(factors_in(weights("8"), desktop) == "factor Y 0 1 -> Y.f");
  CHECK(factors_in(weights("32"), desktop) == "factor Y 1 2 -> Y.f");
}

TEST_CASE("factor: what is left alone says why") {
  CHECK(reason("matmul M=64 N=64 K=64", "C") == "its factors cost least in one loop");
  CHECK(reason("row_sum M=64 N=64", "Y") == "it is no sum of products");
  CHECK(reason(kChain + "I=4 J=4 K=4 L=4", "Y") == "its factors cost least in one loop");
  // Of sums that may be empty none is taken out, for floats.
  CHECK(factors_in(kChain + "I=64 J=0..64 K=0..64 L=64") == "");
  CHECK(factors_in(kChain + "I=64 J=0..64 K=64 L=64") == "factor Y 1 2 -> Y.f");
  const std::string data =
      op("X: f32[L], w: f32[B], z: f32[D], o: i32[B+1]) -> (Y: f32[B]",
         "Y[b] = sum[j in o[b]..o[b+1], d](X[j]*w[b]*z[d])", "B=400 L=4000 D=500");
  CHECK(factors_in(data).starts_with("factor Y 2 -> Y.f"));
}

TEST_CASE("factor: the order of multiplying is part of the numerics class") {
  const std::string chain = kChain + "I=5 J=6 K=7 L=8";
  CHECK(class_of(chain, "") == "Y:seq");
  const std::string left = class_of(chain, "factor Y 0 1 -> P");
  const std::string right = class_of(chain, "factor Y 1 2 -> P");
  CHECK(left == "Y:seq{([seq{(A*B)}]*C)}");
  CHECK(right == "Y:seq{(A*[seq{(B*C)}])}");
  CHECK(class_of(chain, "factor Y 1 2 -> Q; stage B at Q/k -> T") == right);
  CHECK(class_of(chain, "factor Y 1 2 -> Q; split Q/k 4 -> a b; rfactor Q b -> R") != right);
  CHECK(!schedules::admits("seq", left));
  CHECK(schedules::admits("seq", class_of(chain, "split j 4 -> a b; stage A at a -> T")));
  // A product alone may be computed in place again: the factors keep their new order.
  const std::string cp = "cp_tensor I=5 J=3 K=18 R=7";
  CHECK(class_of(cp, "factor Y 0 1 -> P; inline P") == "Y:seq");
  CHECK(class_of(cp, "factor Y 1 2 -> P; inline P") == "Y:seq{(A*(B*C))}");
  CHECK(class_of(cp, "factor Y 0 2 -> P; inline P") == "Y:seq{((A*C)*B)}");
  // What is no sum any more still has an order.
  CHECK(class_of("matmul_scaled M=5 N=6 K=7", "factor Y 1 2 -> P") ==
        "Y:each{((s*[seq{(A*B)}])*t)}");
  // Integers come out the same in any order.
  CHECK(class_of("matmul_chain I=5 J=6 K=7 L=8 T=i32", "factor Y 0 1 -> P") == "exact");
}

TEST_CASE("factor: the bound counts the cheapest order") {
  const runtime::Work chain = work(kChain + "I=256 J=256 K=256 L=256");
  CHECK(chain.singles.all == 2.0 * 256 * 256 * 256);
  CHECK(chain.singles.adds == 0);
  CHECK(chain.bytes_read == 4.0 * 3 * 256 * 256);
  CHECK(work(kChain + "I=10 J=20 K=30 L=5").singles.all == 20 * 30 * 5 + 10 * 20 * 5);
  CHECK(work("cp_tensor I=64 J=32 K=16 R=8").singles.all == 16 * 32 * 8 + 64 * 32 * 16 * 8);
  CHECK(work("matmul_scaled M=10 N=20 K=30").singles.all >= 6000);
  CHECK(work("matmul_scaled M=10 N=20 K=30").singles.all <= 6000 + 3 * 200);
  // Of constants only what the call still multiplies; it reads no more than they are.
  const runtime::Work bound = work(kChain + "I=10 J=20 K=2 L=30 const=B,C");
  CHECK(bound.singles.all <= 10 * 20 * 2 + 10 * 2 * 30);
  CHECK(bound.bytes_read <= 4 * (10 * 20 + 20 * 2 + 2 * 30));
  CHECK(work("matmul M=10 N=20 K=30").singles.all == 6000);
}

TEST_CASE("factor: infinities cancel elsewhere in another order, and the check knows") {
  const ir::Program program = program_of(op("a: f32[J], b: f32[J,K], c: f32[K]) -> (Y: f32[]",
                                            "Y[] = sum[j,k](a[j]*b[j,k]*c[k])", "J=2 K=1"));
  const float endless = std::numeric_limits<float>::infinity();
  const auto evaluated = [&](std::vector<float> a, std::vector<float> b, float c) {
    const std::vector<jit::TensorView> params = {{a.data(), DType::kF32, {2}, {1}},
                                                 {b.data(), DType::kF32, {2, 1}, {1, 1}},
                                                 {&c, DType::kF32, {1}, {1}},
                                                 {nullptr, DType::kF32, {}, {}}};
    const auto out = jit::evaluate(program, params, {}, {});
    REQUIRE(out);
    return out->outputs[0].bound[0];
  };
  // Whole numbers are exact in any order, NaN stays NaN.
  CHECK(evaluated({1, 2}, {3, 4}, 5) == 0);
  CHECK(evaluated({1, std::nanf("")}, {3, 4}, 5) == 0);
  CHECK(evaluated({1, 2}, {1, 1}, endless) == 0);
  // inf - inf term by term, but 1*inf once summed; and products of some factors that overflow.
  CHECK(evaluated({2, -1}, {1, 1}, endless) == std::numeric_limits<double>::infinity());
  CHECK(evaluated({1e30F, 1e30F}, {1e30F, 1e30F}, 1e-30F) ==
        std::numeric_limits<double>::infinity());
}
