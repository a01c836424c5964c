// SPDX-License-Identifier: Apache-2.0
// What the engine serves on a GPU where no schedule is given, and what it says where none serves.
#include <doctest/doctest.h>

#include <string>

#include "runtime/engine/engine_state.h"
#include "schedules/space/space.h"
#include "tests/cuda/on_gpu.h"

using namespace hone;
using namespace hone::runtime;
using namespace hone::tests;

namespace {

constexpr const char* kProblem = "add N=100";

struct Chooser {
  std::shared_ptr<EngineState> engine;
  Key key;

  Chooser() {
    EngineOptions o;
    o.target = "cuda";
    o.cache = ":memory:";
    engine = *EngineState::create(o);
    key = engine->key_of(engine->parse(kProblem)->text);
  }
  void misbehaved(const std::string& schedule) const {
    Record r;
    r.key = key;
    r.schedule = schedule;
    r.verdict = "crashed";
    engine->cache->put(r);
  }
  Result<Done> compiled() const {
    const auto kernel = engine->compile(kProblem, {});
    if (!kernel) return kernel.failure();
    return Done{};
  }
};

}  // namespace

TEST_CASE("device choose: where every schedule misbehaved, none serves") {
  const OnGpu gpu;
  const Chooser chooser;
  const auto problem = chooser.engine->parse(kProblem);
  const ir::Target& target = chooser.engine->target;
  chooser.misbehaved(schedules::default_schedule(problem->program, target).text());
  for (const schedules::Space& space : schedules::derive_space(problem->program, target)) {
    chooser.misbehaved(space.analytic().text());
  }
  chooser.misbehaved("");
  const auto compiled = chooser.compiled();
  REQUIRE_FALSE(compiled);
  const Failure& f = compiled.failure();
  CHECK(f.code == ErrorCode::kUnsupported);
  CHECK_MESSAGE(f.message.find("misbehaved on this GPU") != std::string::npos, f.message);
}

TEST_CASE("device choose: what is no matter of the schedule is said as it is") {
  const OnGpu gpu({{"HONE_NVRTC", "/nowhere/libnvrtc.so"}});
  const Chooser chooser;
  const auto problem = chooser.engine->parse(kProblem);
  const auto first = schedules::default_schedule(problem->program, chooser.engine->target);
  chooser.misbehaved(first.text());
  const auto compiled = chooser.compiled();
  REQUIRE_FALSE(compiled);
  const Failure& f = compiled.failure();
  CHECK(f.code == ErrorCode::kUnsupported);
  CHECK_MESSAGE(f.message.find("tried /nowhere/libnvrtc.so") != std::string::npos, f.message);
}
