// SPDX-License-Identifier: Apache-2.0
// Candidates on a GPU: the tensors of the fixtures lie there as well, and what a candidate made is
// copied back to be compared.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "runtime/engine/gpu_target.h"
#include "runtime/measure/timer.h"
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

/// The word for what a device said: where the context is lost the candidate's fault, else that it
/// cannot run here.
void blame(Gpu& gpu, const Failure& failure, Verdict* v) {
  v->word = gpu.lost() ? "faulted" : "refused";
  v->note = failure.message.substr(0, failure.message.find('\n'));
}

/// Times of one run in the device's clock.
Result<std::vector<double>> samples_of(const Candidate& c, DeviceFrame& frame,
                                       const Timing& timing) {
  double us = 0;
  const auto run = [&](int64_t n) { return frame.run_many(c, n, &us); };
  // The first warms up; of the second the length of samples follows.
  for (const int64_t n : {int64_t{1}, int64_t{4}}) {
    if (Failure f = run(n); f.code != ErrorCode::kOk) return f;
  }
  double each = std::max(us / 4, 0.5);
  std::vector<double> samples;
  for (int i = 0; i < timing.samples; ++i) {
    const auto n = static_cast<int64_t>(std::ceil(timing.sample_us / each));
    if (Failure f = run(n); f.code != ErrorCode::kOk) return f;
    each = std::max(us / static_cast<double>(n), 0.01);
    samples.push_back(each);
    if (timing.give_up_us > 0 && each > timing.give_up_us) break;
  }
  return samples;
}

}  // namespace

Result<std::monostate> Session::find_gpu(int ordinal) {
  auto gpu = gpu_of(target_, ordinal);
  if (!gpu) return gpu.failure();
  gpu_ = *std::move(gpu);
  compiler_.emplace(BinaryStore{}, gpu_->driver().version());
  return std::monostate{};
}

Result<std::monostate> Session::mirror_fixtures() {
  if (!gpu_) return std::monostate{};
  for (const Fixture& f : fixtures_) {
    auto mirror = DeviceMirror::create(gpu_, f);
    if (!mirror) return mirror.failure();
    mirrors_.push_back(std::move(*mirror));
  }
  for (const Fixture& f : timing_) {
    auto mirror = DeviceMirror::create(gpu_, f, DeviceMirror::copies_past_cache(*gpu_, f));
    if (!mirror) return mirror.failure();
    timing_mirrors_.push_back(std::move(*mirror));
  }
  return std::monostate{};
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
    if (Failure f = mirror.upload(fixture); f.code != ErrorCode::kOk) return blamed(f);
    if (Failure f = frame->bind(candidate); f.code != ErrorCode::kOk) return blamed(f);
    if (Failure f = frame->run(candidate); f.code != ErrorCode::kOk) return blamed(f);
    if (Failure f = mirror.download(fixture); f.code != ErrorCode::kOk) return blamed(f);
    for (const auto& what : {mirror.overwritten(fixture), frame->overwritten()}) {
      if (!what) return blamed(what.failure());
      if (!what->empty()) return v.fail("overwrites", *what);
    }
    if (std::string what = frame->misreported(fixture); !what.empty()) return v.fail("wrong", what);
    return frame->run_us();
  });
}

void Session::time_on_gpu(const Candidate& candidate, const Timing& timing, Verdict& v) {
  double logs = 0;
  for (size_t i = 0; i < timing_.size(); ++i) {
    auto frame = DeviceFrame::create(candidate, timing_[i], timing_mirrors_[i]);
    if (!frame) return blame(*gpu_, frame.failure(), &v);
    Failure bound = frame->bind(candidate);
    if (bound.code != ErrorCode::kOk) return blame(*gpu_, bound, &v);
    const auto samples = samples_of(candidate, *frame, timing);
    if (!samples) return blame(*gpu_, samples.failure(), &v);
    logs += std::log(median(*samples));
    v.samples_us.insert(v.samples_us.end(), samples->begin(), samples->end());
  }
  v.median_us = std::exp(logs / static_cast<double>(timing_.size()));
}

}  // namespace hone::runtime
