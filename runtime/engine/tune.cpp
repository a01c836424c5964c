// SPDX-License-Identifier: Apache-2.0
#include "runtime/tune/tune.h"

#include <fmt/format.h>

#include "runtime/engine/engine_state.h"
#include "runtime/engine/failure.h"
#include "runtime/measure/bound.h"
#include "runtime/worker/process.h"

namespace hone {
namespace runtime {

Result<TuneResult> EngineState::tune(Result<ops::Problem> problem, const TuneOptions& tuning) {
  if (!problem) return problem.failure();
  if (target.vector_bytes() == 0 && !services->gpu()) {
    return Failure{ErrorCode::kUnsupported,
                   "there is nothing to tune: the interpreter serves for target " + target_text};
  }
  TimeBound bound;
  if (tuning.again || !cache->best(key_of(problem->text))) {
    Limits limits(target, services->pool(), services->gpu());
    const Failure f = guard_pool(
        [&] { bound = bound_of(problem->program, timing_dims(problem->program), &limits); });
    if (f.code != ErrorCode::kOk) return f;
  }
  auto tell = [this](const std::string& text) {
    services->tell(Event::kBug, [&] { return text; });
  };
  const TuneJob job{*problem,    target,        key_of(problem->text),
                    *cache,      tuning,        find_worker(options.worker),
                    options.gpu, bound.time_us, tell};
  auto result = runtime::tune(job);
  if (!result) return result.failure();
  forget(problem->text);
  // The machine code of the winner goes into the cache, so that the next run compiles nothing.
  if (services->gpu()) {
    auto winner = compile(problem->text, {});
    if (!winner) return winner.failure();
  }
  services->tell(Event::kTune, [&] {
    return fmt::format("{}: {:.3f} us after {} trials in {:.1f} s ({})", result->problem,
                       result->time_us, result->trials, result->seconds, result->schedule);
  });
  return result;
}

}  // namespace runtime

Result<TuneResult> Engine::try_tune(std::string_view problem, const TuneOptions& options) {
  return state_->tune(state_->parse(problem), options);
}

Result<TuneResult> Engine::try_tune(const Op& op, std::string_view bindings,
                                    const TuneOptions& options) {
  return state_->tune(state_->parse(*op.state_, bindings), options);
}

TuneResult Engine::tune(std::string_view problem, const TuneOptions& options) {
  return runtime::value_or_raise(try_tune(problem, options));
}

TuneResult Engine::tune(const Op& op, std::string_view bindings, const TuneOptions& options) {
  return runtime::value_or_raise(try_tune(op, bindings, options));
}

}  // namespace hone
