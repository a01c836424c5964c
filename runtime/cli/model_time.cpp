// SPDX-License-Identifier: Apache-2.0
#include "runtime/cli/model_time.h"

#include "runtime/check/site.h"
#include "runtime/device/gpu.h"
#include "runtime/measure/samples.h"

namespace hone::runtime {
namespace {

/// Rounds, and the least length of one in microseconds.
/// Chosen: as long as a kernel's rounds for models of 10 us and more (not measured).
constexpr int kModelRounds = 15;
constexpr double kModelRoundUs = 2000;

/// Copies of tensors on a GPU.
class TensorsThere {
 public:
  explicit TensorsThere(Site& site) : site_(site) {}

  Result<std::vector<NamedTensor>> copy(const std::vector<NamedTensor>& tensors) {
    std::vector<NamedTensor> out;
    for (const NamedTensor& t : tensors) {
      std::vector<int64_t> shape;
      for (int i = 0; i < t.tensor.rank(); ++i) shape.push_back(t.tensor.extent(i));
      auto block = site_.take(dense_bytes(t.tensor.type(), shape), 1, Guard::kAfter);
      if (!block) return block.failure();
      if (auto f = (*block)->write(t.tensor.data()); !f) return f.failure();
      out.push_back({t.name, TensorRef((*block)->data(), t.tensor.type(), shape)});
      blocks_.push_back(*std::move(block));
    }
    return out;
  }

 private:
  Site& site_;
  std::vector<std::unique_ptr<Block>> blocks_;
};

/// Calls one after the other in the GPU's own stream, by its clock.
Result<Spread> time_on_device(const ModelState& model, const ModelTensors& t) {
  const auto gpu = model.services->gpu();
  const std::unique_ptr<Site> site = device_site(gpu);
  TensorsThere there(*site);
  const auto inputs = there.copy(t.inputs), outputs = there.copy(t.outputs);
  if (!inputs) return inputs.failure();
  if (!outputs) return outputs.failure();
  EnqueueOptions options;
  options.stream = gpu->stream();
  const auto calls = [&](int64_t n) -> Result<Done> {
    for (int64_t i = 0; i < n; ++i) {
      if (auto f = model.enqueue(*inputs, *outputs, options); !f) return f.failure();
    }
    return Done{};
  };
  const auto samples = site->sample(
      calls, false, {.samples = kModelRounds, .sample_us = kModelRoundUs, .give_up_us = 0}, {});
  if (!samples) return samples.failure();
  if (auto f = model.wait(options.stream); !f) return f.failure();
  return spread_of(samples->us);
}

}  // namespace

Result<Spread> time_calls(const ModelState& model, const ModelTensors& t) {
  if (model.device) return time_on_device(model, t);
  ThreadPool* pool = nullptr;
  for (const ModelCall& call : model.calls) pool = pool ? pool : call.kernel->pool;
  Result<Done> outcome = Done{};
  std::vector<TensorShape> shapes(t.outputs.size());
  const auto calls = [&](int64_t n) {
    for (int64_t i = 0; i < n && outcome; ++i) {
      outcome = model.run(t.inputs, t.outputs, {.shapes = shapes});
    }
  };
  const Samples samples =
      sample_calls(calls, pool, {.samples = kModelRounds, .sample_us = kModelRoundUs});
  if (!outcome) return outcome.failure();
  return spread_of(samples.us);
}

}  // namespace hone::runtime
