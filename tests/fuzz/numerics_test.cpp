// SPDX-License-Identifier: Apache-2.0
//
// What a numerics class promises: two schedules of one class give the same bits, whatever their
// tile sizes, tails and threads.
#include <doctest/doctest.h>

#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>

#include "jit/interp/scalar.h"
#include "ops/op.h"
#include "ops/random.h"
#include "runtime/check/fixture.h"
#include "runtime/engine/engine_state.h"
#include "runtime/measure/bound.h"
#include "schedules/search/random_steps.h"
#include "schedules/search/sampling.h"
#include "tests/support/effort.h"

using namespace hone;
using namespace hone::tests;
using runtime::EngineState;
using runtime::Fixture;

namespace {

/// Reductions of every kind, and products that inlining may bring to sums.
constexpr const char* kProblems[] = {
    "row_sum M=3 N=203",
    "matmul M=13 N=37 K=29",
    "matmul M=5 N=19 K=70 T=f64",
    "matmul M=1..16 N=24 K=45",
    "matmul M=7 N=37 K=31 T=bf16",
    "softmax M=5 N=77",
    "layernorm M=3 N=150",
    "op dot(A: f32[N], B: f32[N]) -> (Y: f32[]) { Y[] = sum[i](A[i] * B[i]) } N=171",
    "op far(A: f32[M,N], B: f32[M,N]) -> (Y: f32[M]) { t[i,j] = A[i,j] * B[i,j]; "
    "u[i,j] = B[i,j] * B[i,j]; Y[i] = sum[j](t[i,j] + u[i,j]) } M=4 N=60",
    "op kept(A: f32[M,N], B: f32[M,N]) -> (Y: f32[M]) { t[i,j] = A[i,j] * B[i,j]; "
    "Y[i] = sum[j](t[i,j]) } M=4 N=90",
    "op three(A: f32[I,K,L], B: f32[K,L]) -> (Y: f32[I]) "
    "{ Y[i] = sum[k,l](A[i,k,l] * B[k,l]) } I=5 K=11 L=13",
    "op powers(A: f32[M,N]) -> (Y: f32[M]) { Y[i] = prod[j](A[i,j] + 1.5) } M=3 N=50",
    "op low(A: f32[M,M], X: f32[M]) -> (Y: f32[M]) { s[i,j] = A[i,j] * X[j] where j <= i; "
    "Y[i] = sum[j](s[i,j]) } M=40",
    "op steps(A: f32[M,M], B: f32[M,M]) -> (Y: f32[M]) { Y[i] = sum[j in 0..i+1](A[i,j] * B[i,j]) "
    "} "
    "M=50",
    "op many(A: f64[M,N], X: f32[N]) -> (Y: f32[M]) { Y[i] = sum[j](cast<f32>(A[i,j] * 1.1) * "
    "X[j]) } "
    "M=4 N=90",
    "op adds(A: f32[M,K], B: f32[K,N], inout C: f32[M,N]) -> () { C[m,n] += sum[k](A[m,k] * "
    "B[k,n]) } "
    "M=5 N=20 K=40",
    "op fir(X: f32[N+2], g: f32[3]) -> (Y: f32[N]) { Y[i] = sum[r](X[i+r]*g[r]) } N=37 "
    "numerics=normwise",
    "op filtered(X: f32[C,H,W], F: f32[O,C,3,3], b: f32[O]) -> (Y: f32[O,H,W]) { Y[o,h,w] = "
    "b[o] + sum[c,r,q]((X[c,h+r-1,w+q-1] else 0)*F[o,c,r,q]) } C=3 H=6 W=9 O=4 "
    "numerics=normwise",
    "op filtered_rows(X: f32[C,N+4], F: f32[C,5]) -> (Y: f32[N]) { Y[i] = "
    "sum[c,r](X[c,i+r]*F[c,r]) } C=20 N=23 numerics=normwise",
    "op quotient(A: f32[M,N]) -> (Y: f32[M,N]) { s[i] = sum[j](A[i,j]); Y[i,j] = A[i,j] / s[i] } "
    "M=4 N=70",
    "op halves(A: f16[M,N]) -> (Y: f16[M]) { Y[i] = sum[j](A[i,j]) } M=4 N=70",
};

/// Bits of all outputs. The sign of a zero and which NaN it is are not part of the language.
std::string bits_of(const Fixture& fixture) {
  std::string bits;
  for (const jit::TensorView& v : fixture.outputs()) {
    int64_t count = 1;
    for (const int64_t n : v.shape) count *= n;
    for (int64_t i = 0; i < count; ++i) {  // outputs of a fixture are dense
      if (is_float(v.type)) {
        double x = jit::read_float(v.type, v.data, i);
        x = std::isnan(x) ? std::nan("") : x + 0.0;
        bits.append(reinterpret_cast<const char*>(&x), sizeof x);
      } else {
        const int64_t x = jit::read_int(v.type, v.data, i);
        bits.append(reinterpret_cast<const char*>(&x), sizeof x);
      }
    }
  }
  return bits;
}

/// The outputs of a kernel on a data set; empty where it cannot be called.
std::string results(const runtime::KernelState& kernel, Fixture& fixture, bool serial) {
  fixture.reset();
  std::vector<Arg> args;
  for (const jit::TensorView& v : fixture.params()) {
    args.emplace_back(TensorRef(v.data, v.type, v.shape, v.strides));
  }
  for (double s : fixture.scalars()) args.emplace_back(ScalarArg(s));
  if (!kernel.call(std::span<const Arg>(args), {{}, serial}, nullptr)) return "";
  return bits_of(fixture);
}

/// A problem with its dims known at the call at a value inside of their ranges, and data.
struct Trial {
  ops::Problem problem;
  std::optional<Fixture> fixture;
};

std::unique_ptr<Trial> trial_of(EngineState& engine, const std::string& text) {
  auto problem = engine.parse(text);
  if (!problem) return nullptr;
  auto trial = std::make_unique<Trial>(Trial{*std::move(problem), {}});
  std::vector<int64_t> dims;
  for (const ir::Dim& d : runtime::dims_to_try(trial->problem.program)) {
    dims.push_back(d.lo + (d.hi - d.lo) * 2 / 3);
  }
  auto fixture =
      Fixture::create(trial->problem, dims, jit::DataSet::kRandom, runtime::Guard::kAfter, 1);
  if (!fixture) return nullptr;
  trial->fixture.emplace(*std::move(fixture));
  return trial;
}

/// True where the schedules give kernels of one class and other bits.
bool disagree(EngineState& engine, const std::string& text, const std::string& one,
              const std::string& other) {
  const auto trial = trial_of(engine, text);
  if (!trial) return false;
  const auto a = engine.compile_given(trial->problem, one);
  const auto b = engine.compile_given(trial->problem, other);
  return a && b && (*a)->numerics == (*b)->numerics &&
         results(**a, *trial->fixture, true) != results(**b, *trial->fixture, true);
}

/// The smallest problem and schedules found that still disagree.
std::string shrunk(EngineState& engine, std::string text, schedules::Schedule one,
                   schedules::Schedule other) {
  const auto fails = [&](const std::string& t, const auto& a, const auto& b) {
    return disagree(engine, t, a.text(), b.text());
  };
  for (bool again = fails(text, one, other); again;) {
    again = false;
    one = schedules::shrink(one, [&](const auto& less) { return fails(text, less, other); });
    other = schedules::shrink(other, [&](const auto& less) { return fails(text, one, less); });
    for (const std::string& simpler : ops::simpler_problems(text)) {
      if (!fails(simpler, one, other)) continue;
      text = simpler;
      again = true;
      break;
    }
  }
  return text + "\n  | " + one.text() + "\n  | " + other.text();
}

/// The first schedule seen of a class, and what it gave.
struct Seen {
  schedules::Schedule schedule;
  std::string bits;
};

struct Counts {
  int problems = 0, kernels = 0, repeated = 0, wrong = 0;
};

void compare_classes(EngineState& engine, const std::string& text, uint64_t seed, int schedules,
                     Counts& counts) {
  const auto trial = trial_of(engine, text);
  REQUIRE_MESSAGE(trial, text);
  const ir::Program& program = trial->problem.program;
  ++counts.problems;
  std::map<std::string, Seen> classes;
  schedules::RandomSchedules random(program, engine.target, seed);
  const std::vector<schedules::Space> spaces = schedules::derive_space(program, engine.target);
  const schedules::SearchInput input{spaces, seed, {}, {}};
  schedules::Sampler sampler(input);
  for (int i = 0; i < schedules && counts.wrong < 5; ++i) {
    // Half of what the tuner would try, half of anything.
    const schedules::Candidate c = sampler.any();
    const schedules::Schedule schedule =
        i % 2 == 0 ? schedules::fix(spaces[static_cast<size_t>(c.space)].schedule, c.values)
                   : random.next(1 + i % 9, nullptr);
    CAPTURE(text);
    CAPTURE(schedule.text());
    const auto kernel = engine.compile_given(trial->problem, schedule.text());
    if (!kernel || (*kernel)->report.interpreted) continue;
    ++counts.kernels;
    const std::string& name = (*kernel)->numerics;
    for (const bool serial : {false, true}) {
      const std::string bits = results(**kernel, *trial->fixture, serial);
      const auto [at, fresh] = classes.try_emplace(name, Seen{schedule, bits});
      counts.repeated += !fresh;
      if (at->second.bits == bits) continue;
      ++counts.wrong;
      FAIL_CHECK("class " << name << " has two results:\n  "
                          << shrunk(engine, text, at->second.schedule, schedule));
      break;
    }
  }
}

}  // namespace

TEST_CASE("fuzz: schedules of one numerics class give the same bits") {
  using Clock = std::chrono::steady_clock;
  EngineOptions options;
  options.cache = ":memory:";
  options.threads = 2;
  auto engine = EngineState::create(std::move(options));
  REQUIRE(engine);
  const char* given = std::getenv("HONE_FUZZ_SEED");
  uint64_t seed = given ? std::strtoull(given, nullptr, 10) : 1;
  const uint64_t last = seed + static_cast<uint64_t>(by_effort(0, 1, 5));
  Counts counts;
  const auto end =
      Clock::now() + std::chrono::milliseconds(static_cast<int>(by_effort(2e3, 10e3, 20e3, 60e3)));
  for (; seed <= last && Clock::now() < end && counts.wrong == 0; ++seed) {
    for (const char* text : kProblems) {
      if (Clock::now() < end) compare_classes(**engine, text, seed, 40, counts);
    }
    for (int i = 0; i < 20 && Clock::now() < end; ++i) {
      compare_classes(**engine, ops::random_problem(20 * seed + static_cast<uint64_t>(i)), seed, 20,
                      counts);
    }
  }
  std::printf("%d problems, %d kernels, %d results compared with another of their class\n",
              counts.problems, counts.kernels, counts.repeated);
  CHECK(counts.repeated > 0);
}
