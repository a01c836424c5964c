// SPDX-License-Identifier: Apache-2.0
#include "runtime/cli/trial_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

#include "runtime/cli/kernel_call.h"
#include "runtime/measure/bound.h"
#include "runtime/measure/timer.h"
#include "runtime/measure/work.h"
#include "runtime/worker/fixture.h"

namespace hone::runtime {
namespace {

constexpr size_t kStagger = 192;  // keeps operands of timing runs off one another's cache sets

/// Values of the dims known at the call, to check with: the ends, where it should be good, and one
/// between.
std::vector<std::vector<int64_t>> points_to_check(const ir::Program& program) {
  std::vector<std::vector<int64_t>> points(1);
  for (const ir::Dim& dim : program.dims) {
    const int64_t between = std::clamp((dim.lo + dim.hi) / 2 | 1, dim.lo, dim.hi);
    std::vector<int64_t> values = {dim.lo, between, dim.hi};
    values.insert(values.end(), dim.at.begin(), dim.at.end());
    const size_t rounds = std::max(points.size(), values.size());
    const std::vector<std::vector<int64_t>> before = std::move(points);
    points.clear();
    for (size_t i = 0; i < rounds; ++i) {
      std::vector<int64_t> point = before[std::min(i, before.size() - 1)];
      point.push_back(values[std::min(i, values.size() - 1)]);
      points.push_back(std::move(point));
    }
  }
  return points;
}

/// One data set at one choice of dims.
Failure check_on(const std::shared_ptr<const KernelState>& kernel, Fixture* fixture,
                 CheckOutcome* outcome) {
  const auto referred = fixture->refer();
  if (!referred) return referred.failure();
  fixture->reset();
  auto prepared = KernelCall::create(kernel, *fixture);
  if (!prepared) return prepared.failure();
  Failure failure = (*prepared)->call();
  const bool expects_bad = fixture->reference().bad.has_value();
  if (failure.code == ErrorCode::kBounds && expects_bad) failure.code = ErrorCode::kOk;
  if (failure.code != ErrorCode::kOk) return failure;
  const jit::Comparison found = jit::compare(fixture->reference(), fixture->outputs());
  outcome->max_err = std::max(outcome->max_err, found.max_err);
  outcome->compared += found.compared;
  if (!found.ok()) outcome->mismatch = found.text();
  return failure;
}

}  // namespace

Result<CheckOutcome> check_kernel(const std::shared_ptr<const KernelState>& kernel,
                                  const ops::Problem& problem) {
  CheckOutcome outcome;
  uint64_t number = 0;
  for (const std::vector<int64_t>& dims : points_to_check(problem.program)) {
    for (int set = 0; set < jit::kDataSetCount; ++set, ++number) {
      const Guard guard = number % 2 == 1 ? Guard::kBefore : Guard::kAfter;
      auto fixture =
          Fixture::create(problem, dims, static_cast<jit::DataSet>(set), guard, number + 1);
      if (!fixture) return fixture.failure();
      Failure failure = check_on(kernel, &*fixture, &outcome);
      if (failure.code != ErrorCode::kOk) return failure;
      const std::string overwritten = fixture->overwritten();
      if (outcome.mismatch.empty() && !overwritten.empty()) {
        outcome.mismatch = "memory around " + overwritten + " was written";
      }
      if (outcome.mismatch.empty()) continue;
      outcome.mismatch += fmt::format(" ({} data", jit::name_of(static_cast<jit::DataSet>(set)));
      for (size_t i = 0; i < dims.size(); ++i) {
        outcome.mismatch += fmt::format(", {}={}", problem.program.dims[i].name, dims[i]);
      }
      outcome.mismatch += ")";
      return outcome;
    }
  }
  return outcome;
}

Result<Speed> time_kernel(const std::shared_ptr<const KernelState>& kernel,
                          const ops::Problem& problem, Limits* limits) {
  const std::vector<int64_t> dims = timing_dims(problem.program);
  auto fixture =
      Fixture::create(problem, dims, jit::DataSet::kIntegers, Guard::kBefore, 1, kStagger);
  if (!fixture) return fixture.failure();
  fixture->reset();
  auto prepared = KernelCall::create(kernel, *fixture);
  if (!prepared) return prepared.failure();
  Failure failure{ErrorCode::kOk, {}};
  const Timed timed = time_repeated([&](int n) {
    if (Failure f = (*prepared)->run(n); f.code != ErrorCode::kOk) failure = std::move(f);
  });
  if (failure.code != ErrorCode::kOk) return failure;
  return speed_of(problem, timed.median_us, limits);
}

Speed speed_of(const ops::Problem& problem, double time_us, Limits* limits) {
  const std::vector<int64_t> dims = timing_dims(problem.program);
  const Work work = work_of(problem.program, dims);
  Speed speed;
  speed.time_us = time_us;
  speed.gflops = work.operations / speed.time_us * 1e-3;
  speed.gbps = work.bytes() / speed.time_us * 1e-3;
  const TimeBound bound = bound_of(problem.program, dims, limits);
  speed.flops_bind = bound.flops_bind;
  speed.limit = bound.limit;
  speed.of_limit = (speed.flops_bind ? speed.gflops : speed.gbps) / speed.limit;
  return speed;
}

Json speed_json(const Speed* speed) {
  const auto known = [&](const auto& value) { return speed ? Json(value) : Json(); };
  const Speed s = speed ? *speed : Speed();
  return {{"time_us", known(s.time_us)},
          {"gflops", known(s.gflops)},
          {"gbps", known(s.gbps)},
          {"limit", known(s.limit)},
          {"bound", known(s.flops_bind ? "flops" : "bytes")},
          {"of_limit", known(s.of_limit)}};
}

Json run_json(const KernelState& k, const CheckOutcome* check, const Speed* speed, int threads) {
  Json row = {{"problem", k.problem},
              {"target", k.target},
              {"schedule", k.schedule},
              {"source", name_of(k.source)}};
  row.update(speed_json(speed));
  row["max_err"] = check ? Json(check->max_err) : Json();
  row["tolerance"] = check ? Json(check->tolerance) : Json();
  row["jit_us"] = k.report.build_us;
  row["threads"] = threads;
  row["code_bytes"] = k.report.code_bytes;
  row["spills"] = k.report.spills;
  row["numerics"] = k.numerics;
  if (check && !check->mismatch.empty()) row["mismatch"] = check->mismatch;
  return row;
}

}  // namespace hone::runtime
