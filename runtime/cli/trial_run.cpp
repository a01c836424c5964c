// SPDX-License-Identifier: Apache-2.0
#include "runtime/cli/trial_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "runtime/check/fixture.h"
#include "runtime/check/fresh_data.h"
#include "runtime/kernel_check/kernel_call.h"
#include "runtime/machine/host.h"
#include "runtime/measure/work.h"

namespace hone::runtime {

namespace {

/// Chosen: a steady median within seconds (not measured).
constexpr int kRounds = 15;
constexpr double kRoundUs = 1000;
constexpr int kLookEvery = 6;  // rounds between two looks at the limits

/// Checks the kernel on the last data that were drawn to time it on.
Result<Done> check_drawn(const KernelCall& call, Fixture& fixture) {
  fixture.reset();
  if (auto f = call.run(1); !f) return f;
  const auto found = fixture.compare_few();
  if (!found) return found.failure();
  if (found->ok()) return Done{};
  return Failure{ErrorCode::kInternal, "wrong on data that it was timed on: " + found->text()};
}

/// Times the kernel at one choice of its dims; the limits are measured between rounds.
Result<Speed> time_at(const std::shared_ptr<const KernelState>& kernel, const ops::Problem& problem,
                      const std::vector<int64_t>& dims, Limits* limits) {
  // Tensor cores draw less power on small integers, and run faster than on what users have.
  const auto set = kernel->gpu ? jit::DataSet::kRandom : jit::DataSet::kTimed;
  auto fixture = Fixture::create(problem, dims, set, Guard::kFar, 1, kStagger);
  if (!fixture) return fixture.failure();
  fixture->reset();
  auto prepared = KernelCall::create(kernel, *fixture);
  if (!prepared) return prepared.failure();
  bound_of(problem.program, dims, limits);
  int round = 0;
  Result<Done> failure = Done{};
  const auto between = [&] {
    if (kernel->gpu || ++round % kLookEvery != 0) return;
    limits->again();
    // Its operands back into the caches.
    if (auto f = (*prepared)->run(1); !f) failure = std::move(f);
  };
  SampleOptions options{.samples = kRounds, .sample_us = kRoundUs};
  FreshData fresh(*fixture, host_target().l3);
  const auto packed = (*prepared)->packed_of(fresh.cold());
  if (!kernel->gpu && fresh.needed()) options.before_call = [&] { fresh.make(packed); };
  const auto samples = (*prepared)->sample(options, between);
  if (!samples) return samples.failure();
  if (!failure) return failure.failure();
  if (options.before_call && fresh.draws()) {
    auto right = check_drawn(**prepared, *fixture);
    if (!right) return right.failure();
  }
  Speed speed = speed_of(problem, dims, spread_of(samples->us), limits);
  if (speed.share.busy) {
    limits->again();
    speed = speed_of(problem, dims, spread_of(samples->us), limits);
  }
  speed.rounds = samples->quiet;
  speed.noisy = samples->noisy;
  return speed;
}

/// Geometric means over points; a share only where all have one.
Speed mean_of(std::vector<Speed> points) {
  Speed mean;
  bool known = true;
  const auto average = [&](double Speed::*figure) {
    double logs = 0;
    for (const Speed& p : points) logs += std::log(p.*figure);
    mean.*figure = std::exp(logs / static_cast<double>(points.size()));
  };
  for (double Speed::*figure : {&Speed::time_us, &Speed::low_us, &Speed::high_us, &Speed::gflops,
                                &Speed::gbps, &Speed::limit, &Speed::limit_us}) {
    average(figure);
  }
  mean.bound = points[0].bound;
  mean.rounds = points[0].rounds;
  for (const Speed& p : points) {
    if (p.bound != mean.bound) mean.bound.clear();
    mean.rounds = std::min(mean.rounds, p.rounds);
    mean.noisy = std::max(mean.noisy, p.noisy);
    mean.share.busy |= p.share.busy;
    known &= p.share.of_limit > 0;
  }
  if (mean.bound.empty()) mean.limit = 0;
  if (known) mean.share = share_of(mean.limit_us, mean.time_us);
  mean.points = std::move(points);
  return mean;
}

}  // namespace

Result<Speed> time_kernel(const std::shared_ptr<const KernelState>& kernel,
                          const ops::Problem& problem, Limits* limits) {
  std::vector<Speed> points;
  for (const std::vector<int64_t>& dims : timing_points(problem.program)) {
    auto speed = time_at(kernel, problem, dims, limits);
    if (!speed) return speed.failure();
    points.push_back(*std::move(speed));
  }
  return points.size() == 1 ? points[0] : mean_of(std::move(points));
}

Speed speed_of(const ops::Problem& problem, std::span<const int64_t> dims, const Spread& time,
               Limits* limits) {
  const Work work = work_of(problem.program, dims, limits->target());
  const TimeBound bound = bound_of(problem.program, dims, limits);
  Speed speed;
  speed.at = text_of_dims(problem.program, dims);
  speed.time_us = time.median;
  speed.low_us = time.low;
  speed.high_us = time.high;
  speed.gflops = work.operations / speed.time_us * 1e-3;
  speed.gbps = work.bytes() / speed.time_us * 1e-3;
  speed.bound = bound.flops_bind ? "flops" : "bytes";
  speed.limit = bound.limit;
  speed.limit_us = bound.time_us;
  speed.share = share_of(bound.time_us, time.median);
  return speed;
}

Json speed_json(const Speed* speed) {
  const auto known = [&](const auto& value) { return speed ? Json(value) : Json(); };
  const auto positive = [&](double value) { return speed && value > 0 ? Json(value) : Json(); };
  const Speed s = speed ? *speed : Speed();
  Json row = {{"time_us", known(s.time_us)},
              {"time_low_us", known(s.low_us)},
              {"time_high_us", known(s.high_us)},
              {"rounds", known(s.rounds)},
              {"noisy_rounds", known(s.noisy)},
              {"gflops", known(s.gflops)},
              {"gbps", known(s.gbps)},
              {"limit", positive(s.limit)},
              {"limit_us", positive(s.limit_us)},
              {"bound", s.bound.empty() ? Json() : Json(s.bound)},
              {"of_limit", positive(s.share.of_limit)},
              {"busy", known(s.share.busy)}};
  for (const Speed& p : s.points) {
    Json point = {{"at", p.at}};
    point.update(speed_json(&p));
    row["points"].push_back(std::move(point));
  }
  return row;
}

std::string text_of(const Share& share) {
  if (share.busy) return "busy: faster than the limit could be measured";
  if (share.of_limit <= 0) return "its share of the limit is unknown";
  return fmt::format("{:.0f}% of the limit", 100 * share.of_limit);
}

std::string text_of_time(double us, double low_us, double high_us) {
  return fmt::format("{:.3f} us ({:.3f} to {:.3f})", us, low_us, high_us);
}

std::string text_of_rounds(int rounds, int noisy) {
  // Fixed by: a median, which fewer do not have.
  constexpr int kFew = 3;
  if (rounds < kFew && noisy > 0) {
    return fmt::format("busy: {} of {} rounds were quiet", rounds, rounds + noisy);
  }
  std::string text = fmt::format("{} round{}", rounds, rounds == 1 ? "" : "s");
  if (noisy > 0) text += fmt::format(", {} noisy left out", noisy);
  return text;
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
  if (k.report.compile_us > 0) {
    row["schedule_us"] = k.report.schedule_us;
    row["compile_us"] = k.report.compile_us;
  }
  row["threads"] = threads;
  row["code_bytes"] = k.report.code_bytes;
  row["spills"] = k.report.spills;
  row["numerics"] = k.numerics;
  if (check && !check->mismatch.empty()) row["mismatch"] = check->mismatch;
  return row;
}

}  // namespace hone::runtime
