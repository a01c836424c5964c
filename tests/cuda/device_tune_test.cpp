// SPDX-License-Identifier: Apache-2.0
// Tuning on a GPU, which is the emulated one: its times mean nothing, all else is as on a device.
#include <doctest/doctest.h>

#include <cstdlib>
#include <string>
#include <tuple>

#include "runtime/check/operands.h"
#include "runtime/device/gpu.h"
#include "tests/cuda/on_gpu.h"

using namespace hone;
using namespace hone::tests;

namespace {

TuneOptions few_trials(int64_t trials) {
  TuneOptions o;
  o.budget = std::chrono::milliseconds(0);
  o.trials = trials;
  return o;
}

}  // namespace

TEST_CASE("device tune: a winner, its record and its machine code") {
  const OnGpu gpu;
  Engine engine = gpu_engine();
  const TuneResult r = engine.tune("softmax M=4 N=70", few_trials(4));
  CHECK(r.measured > 0);
  CHECK(r.failed == 0);
  CHECK(r.time_us > 0);
  CHECK(r.target == engine.target());
  Kernel k = engine.compile("softmax M=4 N=70");
  CHECK(k.source() == Source::kTuned);
  CHECK(k.schedule() == r.schedule);
  CHECK_FALSE(k.report().interpreted);
}

TEST_CASE("device tune: a problem with a constant, and one whose data may be bad") {
  const OnGpu gpu;
  Engine engine = gpu_engine();
  CHECK(engine.tune("fc_gelu M=5 N=32 K=24 const=W", few_trials(2)).failed == 0);
  CHECK(engine.tune("embedding_bag R=20 D=8 L=12 B=4", few_trials(2)).failed == 0);
}

TEST_CASE("device tune: trials run on the GPU that the options name") {
  // Of two alike one gives no context to anybody.
  for (const int taken : {0, 1}) {
    const OnGpu gpu({{"HONE_GPU_DEVICES", "2"}, {"HONE_GPU_TAKEN", std::to_string(taken)}});
    Engine engine({.target = "cuda", .cache = ":memory:", .gpu = 1 - taken});
    const auto r = engine.try_tune("add N=100", few_trials(1));
    CHECK_MESSAGE(static_cast<bool>(r), r.failure().message);
  }
}

TEST_CASE("device tune: an input that a candidate writes to is seen") {
  const OnGpu with;
  auto gpu = runtime::Gpu::open(0, 0);
  REQUIRE(static_cast<bool>(gpu));
  const auto problem = ops::parse_problem("add N=1000");
  REQUIRE(static_cast<bool>(problem));
  auto fixture =
      runtime::Fixture::create(*problem, {}, jit::DataSet::kIntegers, runtime::Guard::kBefore, 1);
  REQUIRE(static_cast<bool>(fixture));
  fixture->reset();
  const auto site = runtime::device_site(*gpu);
  const auto operands = runtime::Operands::create(*site, *fixture);
  REQUIRE(static_cast<bool>(operands));
  const auto overwritten = [&] {
    const auto found = operands->overwritten();
    return found ? *found : found.failure().message;
  };
  CHECK(overwritten() == "");
  const runtime::UseGpu use(**gpu);
  // The last byte of the second input, then one past the output.
  for (const auto& [param, offset, name] : {std::tuple{1, 3999, "B"}, std::tuple{2, 4000, "Y"}}) {
    const auto at = reinterpret_cast<uint64_t>(operands->address(0, static_cast<size_t>(param))) +
                    static_cast<uint64_t>(offset);
    unsigned char before = 0;
    REQUIRE((*gpu)->driver().to_host(&before, at, 1) == 0);
    const unsigned char other = before ^ 1;
    REQUIRE((*gpu)->driver().to_device(at, &other, 1) == 0);
    CHECK(overwritten() == name);
    REQUIRE((*gpu)->driver().to_device(at, &before, 1) == 0);
  }
  CHECK(overwritten() == "");
}

TEST_CASE("device tune: candidates that fault or never end cost a worker, not the host") {
  for (const char* trouble : {"HONE_GPU_FAULT", "HONE_GPU_HANG"}) {
    std::string bugs;
    // Each worker is a process with a count of its own: its fourth launch goes wrong.
    const OnGpu gpu({{trouble, "4"}});
    Engine engine({.target = "cuda", .cache = ":memory:", .on_event = [&](const Event& e) {
                     if (e.kind == Event::kBug) bugs += e.text + "\n";
                   }});
    const auto r = engine.try_tune("add N=100", few_trials(1));
    CHECK_FALSE(static_cast<bool>(r));
    CHECK_MESSAGE(bugs.find(trouble == std::string("HONE_GPU_HANG") ? "hung" : "faulted") !=
                      std::string::npos,
                  trouble << ": " << bugs);
  }
  Engine cpu({.target = "", .cache = ":memory:"});
  std::vector<float> x(8, 1.0f), y(8);
  cpu.compile("add N=8")(x, x, y);
  CHECK(y[7] == 2.0f);
}
