// SPDX-License-Identifier: Apache-2.0
// Compilers that are older than the GPU, and GPUs that are newer than what sm_90 alone has: rules,
// records and errors speak of the code that can be made.
#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "runtime/engine/engine_state.h"
#include "runtime/kernel_check/kernel_check.h"
#include "schedules/space/space.h"
#include "tests/cuda/on_gpu.h"

using namespace hone;
using namespace hone::runtime;
using namespace hone::tests;

namespace {

constexpr const char* kSmallProduct = "matmul M=128 N=64 K=64 T=bf16";

bool has(const std::string& text, const char* part) { return text.find(part) != text.npos; }

/// Products of warpgroups, copies by TMA or threads of their own.
bool needs_sm90(const std::string& schedule) {
  for (const char* word : {"wgmma", "tma ", "specialize ", "cluster "}) {
    if (has(schedule, word)) return true;
  }
  return false;
}

/// An engine with an empty cache, and what it says.
struct Opened {
  std::vector<Event> told;
  std::shared_ptr<EngineState> engine;

  explicit Opened(const char* target = "cuda") {
    EngineOptions o;
    o.target = target;
    o.cache = ":memory:";
    o.on_event = [this](const Event& e) { told.push_back(e); };
    auto made = EngineState::create(o);
    REQUIRE_MESSAGE(static_cast<bool>(made), made.failure().message);
    engine = *made;
  }
  Opened(const Opened&) = delete;

  /// The default for the engine's target, or another's.
  std::string default_for(const char* problem, const char* target = nullptr) const {
    const ir::Target of = target ? *ir::parse_target(target, {}) : engine->target;
    return schedules::default_schedule(engine->parse(problem)->program, of).text();
  }
  /// A good record of the problem, as a cache may have it.
  void learn(const char* problem, const std::string& target, const std::string& schedule) const {
    Record r;
    r.key = engine->key_of(engine->parse(problem)->text);
    r.key.target = target;
    r.schedule = schedule;
    r.median_us = 1;
    engine->cache->put(r);
  }
  /// Compiles without a schedule, and holds the results against the definition.
  std::shared_ptr<const KernelState> right(const char* problem) const {
    CAPTURE(problem);
    const auto kernel = engine->compile(problem, {});
    REQUIRE_MESSAGE(static_cast<bool>(kernel), kernel.failure().message);
    CHECK_FALSE((*kernel)->report.interpreted);
    const auto outcome = check_kernel(*kernel, *engine->parse(problem));
    REQUIRE_MESSAGE(static_cast<bool>(outcome), outcome.failure().message);
    CHECK_MESSAGE(outcome->mismatch.empty(), outcome->mismatch);
    CHECK(outcome->compared > 0);
    return *kernel;
  }
  int count(Event::Kind kind) const {
    int n = 0;
    for (const Event& e : told) n += e.kind == kind ? 1 : 0;
    return n;
  }
};

}  // namespace

TEST_CASE("older compiler: defaults of sm_90 do without what is newer, and are right") {
  const OnGpu gpu({{"HONE_GPU_NVRTC", "11.4"}});
  const Opened o;
  CHECK(has(o.engine->target_text, "cuda sm=90 ptx=86 gpu=emulated-h100"));
  REQUIRE(o.told.size() == 1);
  CHECK(has(o.told[0].text, "NVRTC 11.4 does not know sm_90: kernels are PTX for sm_86"));
  REQUIRE(needs_sm90(o.default_for(kSmallProduct, "cuda sm=90")));
  const auto product = o.right(kSmallProduct);
  CHECK(product->source == Source::kDefault);
  CHECK_MESSAGE(has(product->schedule, "mma.bf16"), product->schedule);
  CHECK_MESSAGE(!needs_sm90(product->schedule), product->schedule);
  for (const char* problem : {"softmax M=4 N=70", "add N=1000", "layernorm M=3 N=128"}) {
    CHECK(o.right(problem)->source == Source::kDefault);
  }
  CHECK(o.count(Event::kBug) == 0);
}

TEST_CASE("older compiler: 11.8 names sm_90 and has nothing of it") {
  const OnGpu gpu({{"HONE_GPU_NVRTC", "11.8"}});
  const Opened o;
  CHECK(o.engine->target.ptx == 89);
  CHECK(has(o.right(kSmallProduct)->schedule, "mma.bf16"));
  CHECK(o.count(Event::kBug) == 0);
}

TEST_CASE("older compiler: a schedule that asks for more is refused with the way out") {
  const OnGpu gpu({{"HONE_GPU_NVRTC", "11.4"}});
  const Opened o;
  const auto refused =
      o.engine->compile(kSmallProduct, {.schedule = o.default_for(kSmallProduct, "cuda sm=90")});
  REQUIRE_FALSE(static_cast<bool>(refused));
  CHECK(refused.failure().code == ErrorCode::kSchedule);
  CHECK_MESSAGE(has(refused.failure().message,
                    "needs cuda sm=90 and no other; the target is cuda sm=90 ptx=86 gpu="),
                refused.failure().message);
  CHECK_MESSAGE(has(refused.failure().message,
                    "what an NVRTC makes that does not know sm_90: install one that does"),
                refused.failure().message);
}

TEST_CASE("older compiler: records of either compiler leave the other's default alone") {
  std::string newer, with_wgmma, older, without_wgmma;
  {
    const OnGpu gpu;
    const Opened o;
    newer = o.engine->target_text;
    with_wgmma = o.default_for(kSmallProduct);
  }
  {
    const OnGpu gpu({{"HONE_GPU_NVRTC", "11.4"}});
    const Opened o;
    older = o.engine->target_text;
    without_wgmma = o.default_for(kSmallProduct);
    o.learn(kSmallProduct, newer, with_wgmma);
    CHECK(o.right(kSmallProduct)->schedule == without_wgmma);
    CHECK(o.count(Event::kBug) == 0);
    // What it cannot be, a record of this very target, is told.
    const Opened damaged;
    damaged.learn(kSmallProduct, older, with_wgmma);
    CHECK(damaged.right(kSmallProduct)->schedule == without_wgmma);
    CHECK(damaged.count(Event::kBug) == 1);
  }
  const OnGpu gpu;
  const Opened o;
  o.learn(kSmallProduct, older, without_wgmma);
  const auto kernel = o.engine->compile(kSmallProduct, {});
  REQUIRE(static_cast<bool>(kernel));
  CHECK((*kernel)->source == Source::kDefault);
  CHECK((*kernel)->schedule == with_wgmma);
}

TEST_CASE("older compiler: without a GPU the target says the same, and so it does where asked to") {
  {
    const OnGpu gpu({{"HONE_GPU_NVRTC", "11.4"}, {"HONE_GPU_DEVICES", "0"}});
    const Opened o("cuda sm=90");
    CHECK(o.engine->target_text == "cuda sm=90 ptx=86");
    CHECK(!needs_sm90((*o.engine->compile(kSmallProduct, {}))->schedule));
    // A text of another machine asks for what this one cannot make either.
    CHECK(Opened("cuda sm=90 ptx=89").engine->target_text == "cuda sm=90 ptx=86");
    CHECK(Opened("cuda sm=86").engine->target_text == "cuda sm=86");
  }
  const OnGpu gpu;
  const Opened o("cuda sm=90 ptx=80");
  CHECK(o.told.empty());
  CHECK(has(o.engine->target_text, "cuda sm=90 ptx=80 gpu="));
  CHECK(!needs_sm90(o.right(kSmallProduct)->schedule));
}

TEST_CASE("older compiler: what sm_90 alone has is not for later GPUs, whatever the compiler") {
  for (const char* sm : {"100", "120"}) {
    for (const char* nvrtc : {"13.0", "12.4"}) {
      CAPTURE(sm);
      CAPTURE(nvrtc);
      const OnGpu gpu({{"HONE_GPU_SM", sm}, {"HONE_GPU_NVRTC", nvrtc}});
      const Opened o;
      CHECK(o.engine->target.ptx == (std::string(nvrtc) == "12.4" ? 90 : 0));
      const std::string with_wgmma = o.default_for(kSmallProduct, "cuda sm=90");
      o.learn(kSmallProduct, "cuda sm=90", with_wgmma);
      const auto kernel = o.right(kSmallProduct);
      CHECK_MESSAGE(!has(kernel->schedule, "wgmma"), kernel->schedule);
      CHECK(o.count(Event::kBug) == 0);
      const auto refused = o.engine->compile(kSmallProduct, {.schedule = with_wgmma});
      REQUIRE_FALSE(static_cast<bool>(refused));
      CHECK_MESSAGE(has(refused.failure().message, "needs cuda sm=90 and no other"),
                    refused.failure().message);
    }
  }
}
