// SPDX-License-Identifier: Apache-2.0
#include "runtime/cli/model_time.h"

#include "runtime/measure/samples.h"

namespace hone::runtime {
namespace {

/// Rounds, and the least length of one in microseconds.
/// Chosen: as long as a kernel's rounds for models of 10 us and more (not measured).
constexpr int kModelRounds = 15;
constexpr double kModelRoundUs = 2000;

}  // namespace

Result<Spread> time_calls(const ModelState& model, const ModelTensors& t) {
  ThreadPool* pool = nullptr;
  for (const ModelCall& call : model.calls) pool = pool ? pool : call.kernel->pool;
  Result<Done> outcome = Done{};
  const auto calls = [&](int64_t n) {
    for (int64_t i = 0; i < n && outcome; ++i) outcome = model.run(t.inputs, t.outputs, {});
  };
  const Samples samples =
      sample_calls(calls, pool, {.samples = kModelRounds, .sample_us = kModelRoundUs});
  if (!outcome) return outcome.failure();
  return spread_of(samples.us);
}

}  // namespace hone::runtime
