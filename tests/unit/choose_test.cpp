// SPDX-License-Identifier: Apache-2.0
// What the engine serves where no schedule is given.
#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "runtime/engine/engine_state.h"

using namespace hone;
using namespace hone::runtime;

namespace {

constexpr const char* kProblem = "matmul M=24 N=40 K=56";

/// A default of it would keep registers in memory for much of its time.
constexpr const char* kCrowded = "depthwise_conv2d N=2 C=5 H=12 W=13 R=5 Q=5 S=2 P=2";

struct Chooser {
  std::vector<std::string> bugs;
  std::shared_ptr<EngineState> engine;

  Chooser() {
    EngineOptions o;
    o.target = "x86 isa=avx2 threads=1";
    o.cache = ":memory:";
    o.on_event = [this](const Event& e) {
      if (e.kind == Event::kBug) bugs.push_back(e.text);
    };
    engine = *EngineState::create(o);
  }
  std::shared_ptr<const KernelState> compile() const {
    auto kernel = engine->compile(kProblem, {});
    REQUIRE(kernel);
    return *kernel;
  }
  /// What a tuning run learned about one schedule of `key`.
  void learn(const Key& key, const std::string& schedule, const std::string& verdict) const {
    Record r;
    r.key = key;
    r.schedule = schedule;
    r.verdict = verdict;
    r.median_us = 1;
    engine->cache->put(r);
    engine->forget(key_of().problem);
  }
  Key key_of() const { return engine->key_of(engine->parse(kProblem)->text); }
};

}  // namespace

TEST_CASE("choose: what spills much is no default while something else serves") {
  Chooser chooser;
  const auto kernel = chooser.engine->compile(kCrowded, {});
  REQUIRE(kernel);
  const auto& r = (*kernel)->report;
  CHECK_MESSAGE(r.inner_spills * 8 < r.instructions, r.inner_spills << " of " << r.instructions);
  CHECK((*kernel)->schedule.find("vectorize") != std::string::npos);
  CHECK(chooser.bugs.empty());
}

TEST_CASE("choose: what misbehaved here does not serve, as the default or as a near record") {
  Chooser chooser;
  const auto untuned = chooser.compile();
  CHECK(untuned->source == Source::kDefault);
  chooser.learn(chooser.key_of(), untuned->schedule, "wrong");
  const auto second = chooser.compile();
  CHECK(second->schedule != untuned->schedule);
  REQUIRE(chooser.bugs.size() == 1);
  CHECK(chooser.bugs[0].find("in quarantine") != std::string::npos);
  // Another context found it good.
  Key elsewhere = chooser.key_of();
  elsewhere.target = print(*ir::parse_target("x86 isa=avx512 threads=1", {}));
  chooser.learn(elsewhere, untuned->schedule, "ok");
  CHECK(chooser.compile()->schedule == second->schedule);
  // Where all else is in quarantine as well, the interpreter serves.
  for (int n = 0; n < 64 && !chooser.compile()->report.interpreted; ++n) {
    chooser.learn(chooser.key_of(), chooser.compile()->schedule, "crashed");
  }
  CHECK(chooser.compile()->report.interpreted);
}
