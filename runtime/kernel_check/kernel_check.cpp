// SPDX-License-Identifier: Apache-2.0
#include "runtime/kernel_check/kernel_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "runtime/check/reference_kernel.h"
#include "runtime/device/compiler.h"
#include "runtime/kernel_check/kernel_call.h"
#include "runtime/machine/host.h"
#include "runtime/measure/bound.h"
#include "schedules/schedule.h"

namespace hone::runtime {
namespace {

/// Values of the dims known at the call, to check with: the ends, where it should be good, and one
/// between.
std::vector<std::vector<int64_t>> points_to_check(const ir::Program& program) {
  std::vector<std::vector<int64_t>> points(1);
  for (const ir::Dim& dim : dims_to_try(program)) {
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

/// The tiles of the schedule that a kernel was built of.
TileEdges edges_of(const KernelState& kernel, const ops::Problem& problem) {
  auto schedule = schedules::Schedule::parse(kernel.schedule);
  if (!schedule) return {};
  auto scheduled = schedules::apply(problem.program, *schedule);
  return scheduled ? tile_edges(*scheduled) : TileEdges{};
}

/// Checks of one kernel, which share what they need of a large problem.
class KernelCheck {
 public:
  KernelCheck(std::shared_ptr<const KernelState> kernel, const ops::Problem& problem)
      : kernel_(std::move(kernel)), problem_(problem), edges_(edges_of(*kernel_, problem)) {}

  /// One data set at one choice of dims.
  Result<Done> on(Fixture& fixture, CheckOutcome* outcome);

 private:
  Result<Done> refer(Fixture& fixture);

  std::shared_ptr<const KernelState> kernel_;
  const ops::Problem& problem_;
  TileEdges edges_;
  jit::ExecutableMemory memory_;
  std::optional<GpuCompiler> compiler_;
  std::optional<ReferenceKernel> reference_;
};

Result<Done> KernelCheck::refer(Fixture& fixture) {
  auto referred = fixture.refer();
  if (!referred || fixture.whole()) return referred;
  if (!reference_) {
    auto target = ir::parse_target(kernel_->target, host_target());
    if (!target) return target.failure();
    DevicePlace place(&memory_, nullptr, nullptr);
    if (kernel_->gpu) {
      place.gpu = kernel_->services->gpu();
      compiler_.emplace(BinaryStore{}, place.gpu->driver().version());
      place.compiler = &*compiler_;
    }
    auto made = ReferenceKernel::create(problem_, *target, place, true);
    // Where there is no machine code the sample has to do.
    if (!made && made.failure().code == ErrorCode::kUnsupported) return Done{};
    if (!made) return made.failure();
    reference_.emplace(std::move(*made));
  }
  return reference_->refer(fixture);
}

Result<Done> KernelCheck::on(Fixture& fixture, CheckOutcome* outcome) {
  const auto referred = refer(fixture);
  if (!referred) return referred.failure();
  fixture.reset();
  auto prepared = KernelCall::create(kernel_, fixture);
  if (!prepared) return prepared.failure();
  auto called = (*prepared)->call();
  const auto& bad = fixture.reference().bad;
  const bool reported = !called && called.failure().code == ErrorCode::kBounds;
  if (reported && !bad) {
    outcome->mismatch = "good data is refused: " + called.failure().message;
    return Done{};
  }
  if (!called && !reported) return called;
  if (bad && !reported) {
    outcome->mismatch =
        fmt::format("element {} of {} is bad and not reported", bad->position, bad->tensor);
    return Done{};
  }
  const auto found = fixture.compare(edges_);
  if (!found) return found.failure();
  outcome->max_err = std::max(outcome->max_err, found->max_err);
  outcome->compared += found->compared;
  if (!found->ok()) outcome->mismatch = found->text();
  return Done{};
}

}  // namespace

Result<CheckOutcome> check_kernel(const std::shared_ptr<const KernelState>& kernel,
                                  const ops::Problem& problem) {
  CheckOutcome outcome;
  KernelCheck check(kernel, problem);
  uint64_t number = 0;
  for (const std::vector<int64_t>& dims : points_to_check(problem.program)) {
    for (int set = 0; set < jit::kDataSetCount; ++set, ++number) {
      const Guard guard = number % 2 == 1 ? Guard::kBefore : Guard::kAfter;
      auto fixture =
          Fixture::create(problem, dims, static_cast<jit::DataSet>(set), guard, number + 1);
      if (!fixture) return fixture.failure();
      auto failure = check.on(*fixture, &outcome);
      if (!failure) return failure.failure();
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

}  // namespace hone::runtime
