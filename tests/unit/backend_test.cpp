// SPDX-License-Identifier: Apache-2.0
//
// Back ends as rows: who serves which target, and what becomes of one with a defect.
#include "jit/interp/backend.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cerrno>
#include <new>
#include <stdexcept>
#include <string>
#include <system_error>

#include "jit/x86/compile.h"
#include "runtime/build/backends.h"
#include "runtime/build/guard.h"
#include "runtime/engine/engine_state.h"
#include "runtime/machine/host.h"
#include "runtime/worker/session.h"

using namespace hone;
using namespace hone::runtime;
using ir::Reject;

namespace {

bool has_vectors(const ir::Program& scheduled) {
  return std::any_of(scheduled.stages.begin(), scheduled.stages.end(), [](const ir::Stage& s) {
    return std::any_of(s.loops.begin(), s.loops.end(),
                       [](const ir::Loop& l) { return l.mark == ir::Mark::kVector; });
  });
}

/// The x86 back end with an assertion that fails where a loop is a vector loop.
Result<std::shared_ptr<const jit::Code>, Reject> emit_or_fail(const ir::Program& scheduled,
                                                              const ir::Target& target,
                                                              const jit::EmitOptions& options) {
  if (has_vectors(scheduled)) throw InternalError("planted: a vector loop");
  return jit::kX86Backend.emit(scheduled, target, options);
}

Result<std::shared_ptr<const jit::Executable>, Reject> load_or_fail(
    std::shared_ptr<const jit::Code>, const ir::Target&, const jit::Place&) {
  throw InternalError("planted: in loading");
}

/// The same by what a container throws.
Result<std::shared_ptr<const jit::Code>, Reject> emit_or_throw(const ir::Program& scheduled,
                                                               const ir::Target& target,
                                                               const jit::EmitOptions& options) {
  if (has_vectors(scheduled)) throw std::out_of_range("planted: no such element");
  return jit::kX86Backend.emit(scheduled, target, options);
}

/// Code that throws where the engine asks it for its functions.
class Bad final : public jit::Executable {
 public:
  Result<Done> run(size_t, const int64_t*, const jit::Part&) const override { return Done{}; }
  Launch::Function function(size_t) const override {
    throw std::logic_error("planted: no function");
  }
};

Result<std::shared_ptr<const jit::Executable>, Reject> load_badly(std::shared_ptr<const jit::Code>,
                                                                  const ir::Target&,
                                                                  const jit::Place&) {
  return std::shared_ptr<const jit::Executable>(std::make_shared<Bad>());
}

const jit::Backend kLoadsBadly = {"planted", jit::kX86Backend.takes, jit::kX86Backend.emit,
                                  load_badly};
const jit::Backend kThrows = {"planted", jit::kX86Backend.takes, emit_or_throw,
                              jit::kX86Backend.load};
const jit::Backend kFailsToEmit = {"planted", jit::kX86Backend.takes, emit_or_fail,
                                   jit::kX86Backend.load};
const jit::Backend kFailsToLoad = {"planted", jit::kX86Backend.takes, jit::kX86Backend.emit,
                                   load_or_fail};

/// An engine whose code `backend` makes, and the bugs that it tells of.
struct Watching {
  std::shared_ptr<EngineState> engine;
  std::string bugs;

  explicit Watching(const jit::Backend& backend) {
    EngineOptions o;
    o.cache = ":memory:";
    o.target = "x86 isa=avx2 threads=1";
    o.on_event = [this](const Event& e) {
      if (e.kind == Event::kBug) bugs += e.text + "\n";
    };
    auto made = EngineState::create(o);
    REQUIRE(made);
    engine = *made;
    engine->services->use_backend(&backend);
  }
};

bool avx2_here() { return host_target().has(ir::Isa::kAvx2); }

}  // namespace

TEST_CASE("back ends: each target has one") {
  CHECK(&backend_of(*ir::parse_target("x86 isa=avx2", {})) == &jit::kX86Backend);
  CHECK(&backend_of(*ir::parse_target("x86 isa=none", {})) == &jit::kInterpBackend);
  CHECK(backend_of(*ir::parse_target("cuda sm=90", {})).name == "cuda");
  CHECK(backends().back() == &jit::kInterpBackend);
}

TEST_CASE("back ends: a bug is told, and another schedule serves") {
  if (!avx2_here()) return;
  Watching w(kFailsToEmit);
  const auto problem = ops::parse_problem("softmax M=5 N=70");
  REQUIRE(problem);
  const auto kernel = choose_kernel(w.engine.get(), *problem);
  REQUIRE_MESSAGE(kernel, kernel.failure().message);
  CHECK_FALSE((*kernel)->report.interpreted);
  CHECK((*kernel)->schedule.find("vectorize") == std::string::npos);
  CHECK_MESSAGE(
      w.bugs.find("a bug of the back end planted: planted: a vector loop") != std::string::npos,
      w.bugs);
  CHECK(w.bugs.find("softmax M=5 N=70 | x86 isa=avx2") != std::string::npos);
}

TEST_CASE("back ends: any exception is a bug, and the next compile is as good as the first") {
  if (!avx2_here()) return;
  Watching w(kThrows);
  const auto first = w.engine->compile("relu N=70", {});
  REQUIRE_MESSAGE(first, first.failure().message);
  CHECK_MESSAGE(w.bugs.find("planted: no such element") != std::string::npos, w.bugs);
  for (int i = 0; i < 2; ++i) {
    const auto given = w.engine->compile("relu N=71", {.schedule = "vectorize Y/i"});
    REQUIRE_FALSE(given);
    CHECK(given.failure().code == ErrorCode::kInternal);
  }
  CHECK(w.engine->compile("relu N=71", {}));
}

TEST_CASE("back ends: an exception past them leaves nobody waiting") {
  if (!avx2_here()) return;
  Watching w(kLoadsBadly);
  // The second finds no trace of the first: it is neither hit nor waiting.
  for (int i = 0; i < 2; ++i) {
    w.bugs.clear();
    const auto kernel = w.engine->compile("relu N=70", {});
    REQUIRE_FALSE(kernel);
    CHECK(kernel.failure().code == ErrorCode::kInternal);
    CHECK(kernel.failure().message.find("planted: no function") != std::string::npos);
    CHECK(w.bugs.find("relu N=70 | x86 isa=avx2") != std::string::npos);
  }
}

TEST_CASE("back ends: want of memory and what the system refuses are no bugs") {
  const auto at_door = [](const auto& error) {
    return guarded_door(
               "relu N=3", [&]() -> Result<Done> { throw error; },
               [](const std::string& what) -> Result<Done> {
                 return Failure{ErrorCode::kInternal, what};
               })
        .failure()
        .code;
  };
  CHECK(at_door(std::bad_alloc()) == ErrorCode::kMemory);
  CHECK(at_door(std::system_error(EAGAIN, std::generic_category())) == ErrorCode::kUnsupported);
  CHECK(at_door(std::logic_error("planted")) == ErrorCode::kInternal);
}

TEST_CASE("back ends: a bug of what loads code ends nothing either") {
  if (!avx2_here()) return;
  Watching w(kFailsToLoad);
  const auto problem = ops::parse_problem("relu N=70");
  REQUIRE(problem);
  const auto kernel = choose_kernel(w.engine.get(), *problem);
  REQUIRE_FALSE(kernel);
  CHECK(kernel.failure().code == ErrorCode::kInternal);
  CHECK(w.bugs.find("planted: in loading") != std::string::npos);
}

TEST_CASE("back ends: a schedule by hand that meets a bug is an error, and told") {
  if (!avx2_here()) return;
  Watching w(kFailsToEmit);
  const auto problem = ops::parse_problem("relu N=70");
  REQUIRE(problem);
  const auto kernel = w.engine->compile("relu N=70", {.schedule = "vectorize Y/i"});
  REQUIRE_FALSE(kernel);
  CHECK(kernel.failure().code == ErrorCode::kInternal);
  CHECK(w.bugs.find("| vectorize Y/i") != std::string::npos);
}

TEST_CASE("back ends: in a worker a candidate that meets a bug has failed") {
  if (!avx2_here()) return;
  auto session = Session::open("relu N=70", "x86 isa=avx2 threads=1", 0, false);
  REQUIRE(session);
  (*session)->use_backend(&kFailsToEmit);
  const Verdict bad = (*session)->try_schedule("vectorize Y/i", {});
  CHECK(bad.word == "bug");
  CHECK(bad.note.find("planted: a vector loop") != std::string::npos);
  CHECK((*session)->try_schedule("", {}).word == "ok");
}
