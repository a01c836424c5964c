// SPDX-License-Identifier: Apache-2.0
#include "runtime/cli/trial_run.h"

#include "runtime/measure/bound.h"
#include "runtime/measure/timer.h"
#include "runtime/measure/work.h"
#include "runtime/worker/fixture.h"
#include "runtime/worker/kernel_call.h"

namespace hone::runtime {

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
  const Work work = work_of(problem.program, dims, limits->target());
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
