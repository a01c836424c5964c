// SPDX-License-Identifier: Apache-2.0
#include "runtime/cli/trial_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

#include "runtime/measure/bound.h"
#include "runtime/measure/timer.h"
#include "runtime/measure/work.h"
#include "runtime/worker/fixture.h"

namespace hone::runtime {
namespace {

constexpr size_t kStagger = 192;  // keeps operands of timing runs off one another's cache sets

/// A kernel with the tensors of one fixture: constants bound, the rest as arguments.
class Bench {
 public:
  Bench(std::shared_ptr<const KernelState> kernel, const Fixture& fixture)
      : kernel_(std::move(kernel)), fixture_(fixture) {
    size_t p = 0;
    for (const ir::Buffer& b : fixture.problem().program.buffers) {
      if (b.role == ir::Role::kTemp) continue;
      const jit::TensorView& v = fixture.params()[p++];
      const TensorRef ref(v.data, v.type, v.shape, v.strides);
      if (b.constant) {
        constants_.emplace_back(b.name, ref);
      } else {
        args_.emplace_back(ref);
      }
    }
    for (double s : fixture.scalars()) args_.emplace_back(ScalarArg(s));
  }

  Failure bind() {
    bound_ = std::make_shared<BoundState>();
    for (const auto& [name, ref] : constants_) {
      auto more = bind_constant(kernel_, *bound_, name, ref);
      if (!more) return more.failure();
      bound_ = *more;
    }
    return {ErrorCode::kOk, {}};
  }

  Failure call() const { return kernel_->call(args_, {}, bound_.get()); }

  /// Runs the launches as a caller of the raw entry would.
  Result<Timed> time() const {
    int64_t slots[kMaxSlots];
    if (Failure f = kernel_->fill(args_, bound_.get(), slots); f.code != ErrorCode::kOk) return f;
    const int64_t bytes = kernel_->workspace_bytes();
    WorkspacePool& pool = kernel_->services->workspaces();
    auto* workspace = bytes > 0 ? static_cast<std::byte*>(pool.take(bytes)) : nullptr;
    if (bytes > 0 && !workspace) {
      return Failure{ErrorCode::kMemory, fmt::format("{} bytes of workspace are too many", bytes)};
    }
    Failure failure{ErrorCode::kOk, {}};
    const Timed timed = time_repeated([&](int n) {
      for (int i = 0; i < n; ++i) {
        Failure f = kernel_->run_all(slots, workspace, kernel_->pool);
        if (f.code != ErrorCode::kOk) failure = std::move(f);
      }
    });
    if (workspace) pool.give(workspace, bytes);
    if (failure.code != ErrorCode::kOk) return failure;
    return timed;
  }

 private:
  std::shared_ptr<const KernelState> kernel_;
  const Fixture& fixture_;
  std::vector<Arg> args_;
  std::vector<std::pair<std::string, TensorRef>> constants_;
  std::shared_ptr<const BoundState> bound_;
};

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
  Bench bench(kernel, *fixture);
  Failure failure = bench.bind();
  if (failure.code == ErrorCode::kOk) failure = bench.call();
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
  Bench bench(kernel, *fixture);
  if (Failure f = bench.bind(); f.code != ErrorCode::kOk) return f;
  const auto timed = bench.time();
  if (!timed) return timed.failure();
  const Work work = work_of(problem.program, dims);
  Speed speed;
  speed.time_us = timed->median_us;
  speed.gflops = work.operations / speed.time_us * 1e-3;
  speed.gbps = work.bytes() / speed.time_us * 1e-3;
  const TimeBound bound = bound_of(problem.program, dims, limits);
  speed.flops_bind = bound.flops_bind;
  speed.limit = bound.limit;
  speed.of_limit = (speed.flops_bind ? speed.gflops : speed.gbps) / speed.limit;
  return speed;
}

Json run_json(const KernelState& k, const CheckOutcome& check, const Speed& speed, int threads) {
  return {{"problem", k.problem},
          {"target", k.target},
          {"schedule", k.schedule},
          {"source", name_of(k.source)},
          {"time_us", speed.time_us},
          {"gflops", speed.gflops},
          {"gbps", speed.gbps},
          {"limit", speed.limit},
          {"bound", speed.flops_bind ? "flops" : "bytes"},
          {"of_limit", speed.of_limit},
          {"max_err", check.max_err},
          {"tolerance", check.tolerance},
          {"jit_us", k.report.build_us},
          {"threads", threads},
          {"code_bytes", k.report.code_bytes},
          {"spills", k.report.spills},
          {"numerics", k.numerics}};
}

}  // namespace hone::runtime
