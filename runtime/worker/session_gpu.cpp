// SPDX-License-Identifier: Apache-2.0
// Candidates on a GPU: the tensors of the fixtures lie there as well, and what a candidate made is
// copied back to be compared.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "runtime/device/gpu_target.h"
#include "runtime/measure/bound.h"
#include "runtime/measure/spread.h"
#include "runtime/worker/session.h"

namespace hone::runtime {
namespace {

/// Device `ordinal`, where it runs code for the target.
Result<std::shared_ptr<Gpu>> gpu_of(const ir::Target& target, int ordinal) {
  auto driver = jit::CudaDriver::open();
  if (!driver) return driver.failure();
  auto all = list_gpus(**driver);
  if (!all) return all.failure();
  for (const GpuFacts& facts : *all) {
    if (facts.ordinal == ordinal && runs(facts, target)) return Gpu::open(ordinal, 0);
  }
  return Failure{ErrorCode::kUnsupported,
                 fmt::format("GPU {} of this machine is not `{}`", ordinal, ir::print(target))};
}

/// A GPU that does not answer for so long while a problem is opened is not waited for.
constexpr int64_t kOpeningMs = 20000;

/// The word for what a device said: where the context is lost the candidate's fault, else that it
/// cannot run here.
void blame(Gpu& gpu, const Failure& failure, Verdict* v) {
  v->word = gpu.hung() ? "hung" : gpu.lost() ? "faulted" : "refused";
  v->note = failure.message.substr(0, failure.message.find('\n'));
}

/// Runs until two samples agree, since an idle GPU has a slow clock; what a run takes then.
template <class Run>
Result<double> warm_up(const Run& run, const Timing& timing) {
  constexpr double kAlike = 0.02;
  constexpr double kLongestUs = 100e3;  // in all: clocks that do not settle by then do not
  auto first = run(1);
  if (!first) return first.failure();
  auto each = run(4);
  double all = 0;
  for (double length = timing.sample_us; each && all < kLongestUs; length *= 2) {
    const double before = *each;
    const auto n = static_cast<int64_t>(std::ceil(length / std::max(before, 0.5)));
    each = run(n);
    if (!each || std::fabs(*each - before) <= kAlike * before) return each;
    all += static_cast<double>(n) * *each;
  }
  return each;
}

/// Times of one run in the device's clock.
Result<std::vector<double>> samples_of(const Candidate& c, DeviceFrame& frame,
                                       const Timing& timing) {
  const auto run = [&](int64_t n) -> Result<double> {
    double us = 0;
    if (auto f = frame.run_many(c, n, &us); !f) return f.failure();
    return std::max(us / static_cast<double>(n), 0.01);
  };
  auto each = warm_up(run, timing);
  std::vector<double> samples;
  for (int i = 0; i < timing.samples && each; ++i) {
    each = run(static_cast<int64_t>(std::ceil(timing.sample_us / *each)));
    if (!each) break;
    samples.push_back(*each);
    if (timing.give_up_us > 0 && *each > timing.give_up_us) break;
  }
  if (!each) return each.failure();
  return samples;
}

}  // namespace

Result<Done> Session::find_gpu(int ordinal) {
  auto gpu = gpu_of(target_, ordinal);
  if (!gpu) return gpu.failure();
  gpu_ = *std::move(gpu);
  gpu_->limit_waits(kOpeningMs);
  compiler_.emplace(BinaryStore{}, gpu_->driver().version());
  return Done{};
}

Result<Done> Session::mirror_fixtures() {
  if (!gpu_) return Done{};
  for (const Fixture& f : fixtures_) {
    auto mirror = DeviceMirror::create(gpu_, f);
    if (!mirror) return mirror.failure();
    mirrors_.push_back(std::move(*mirror));
  }
  for (size_t i = 0; i < timing_points(problem_->program).size(); ++i) {
    const Fixture& f = timed_on_gpu(i);
    auto mirror = DeviceMirror::create(gpu_, f, DeviceMirror::copies_past_cache(*gpu_, f));
    if (!mirror) return mirror.failure();
    timing_mirrors_.push_back(std::move(*mirror));
  }
  return Done{};
}

/// One data set on the GPU: memory left alone besides.
double Session::check_on_gpu(const Candidate& candidate, size_t number, Verdict& v) {
  Fixture& fixture = fixtures_[number];
  DeviceMirror& mirror = mirrors_[number];
  const auto blamed = [&](const Failure& f) {
    blame(*gpu_, f, &v);
    return 0.0;
  };
  auto frame = DeviceFrame::create(candidate, fixture, mirror);
  if (!frame) return blamed(frame.failure());
  return check_runs(candidate, fixture, v, [&] {
    if (auto f = mirror.upload(fixture); !f) return blamed(f.failure());
    if (auto f = frame->bind(candidate); !f) return blamed(f.failure());
    if (auto f = frame->run(candidate); !f) return blamed(f.failure());
    if (auto f = mirror.download(fixture); !f) return blamed(f.failure());
    for (const auto& what : {mirror.overwritten(fixture), frame->overwritten()}) {
      if (!what) return blamed(what.failure());
      if (!what->empty()) return v.fail("overwrites", *what);
    }
    if (std::string what = frame->misreported(fixture); !what.empty()) return v.fail("wrong", what);
    return frame->run_us();
  });
}

/// What point `i` is timed on: random reals, on which tensor cores draw the power that they draw
/// in use. The points to time come first among those to check.
const Fixture& Session::timed_on_gpu(size_t i) const {
  return fixtures_[i * jit::kDataSetCount + static_cast<size_t>(jit::DataSet::kRandom)];
}

void Session::time_on_gpu(const Candidate& candidate, const Timing& timing, Verdict& v) {
  double logs = 0;
  for (size_t i = 0; i < timing_mirrors_.size(); ++i) {
    auto frame = DeviceFrame::create(candidate, timed_on_gpu(i), timing_mirrors_[i]);
    if (!frame) return blame(*gpu_, frame.failure(), &v);
    auto bound = frame->bind(candidate);
    if (!bound) return blame(*gpu_, bound.failure(), &v);
    const auto samples = samples_of(candidate, *frame, timing);
    if (!samples) return blame(*gpu_, samples.failure(), &v);
    v.points_us.push_back(median(*samples));
    logs += std::log(v.points_us.back());
    v.samples_us.insert(v.samples_us.end(), samples->begin(), samples->end());
  }
  v.median_us = std::exp(logs / static_cast<double>(timing_mirrors_.size()));
}

}  // namespace hone::runtime
