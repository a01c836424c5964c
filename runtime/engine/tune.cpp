// SPDX-License-Identifier: Apache-2.0
#include "runtime/tune/tune.h"

#include <fmt/format.h>

#include <optional>
#include <utility>

#include "runtime/engine/engine_state.h"
#include "runtime/engine/failure.h"
#include "runtime/measure/bound.h"
#include "runtime/measure/limits.h"
#include "runtime/tune/fitting.h"
#include "runtime/tune/run.h"
#include "runtime/worker/process.h"

namespace hone {
namespace runtime {

Result<TuneResult> EngineState::tune(Result<ops::Problem> problem, const TuneOptions& tuning) {
  if (!problem) return problem.failure();
  if (target.vector_bytes() == 0 && !services->gpu()) {
    return Failure{ErrorCode::kUnsupported,
                   "there is nothing to tune: the interpreter serves for target " + target_text};
  }
  // What the cache has needs no measurement.
  std::optional<Limits> limits;
  const auto measure = [&] {
    limits ? limits->again() : static_cast<void>(limits.emplace(this->limits()));
    std::vector<double> us;
    for (const std::vector<int64_t>& dims : timing_points(problem->program)) {
      us.push_back(bound_of(problem->program, dims, &*limits).time_us);
    }
    return us;
  };
  std::vector<double> first;
  const auto known = cache->best(key_of(problem->text));
  const bool searches = tuning.again || !known || known->note == kUnfinished;
  if (searches) {
    const auto f = guard_pool([&] { first = measure(); });
    if (!f) return f.failure();
  }
  const auto limits_us = [&] {
    if (!first.empty()) return std::exchange(first, {});
    std::vector<double> us;
    // A pool that fails tells so when it is called.
    if (!guard_pool([&] { us = measure(); })) us.clear();
    return us;
  };
  auto tell = [this](const std::string& text) {
    services->tell(Event::kBug, [&] { return text; });
  };
  const TuneJob job{*problem,
                    target,
                    key_of(problem->text),
                    *cache,
                    tuning,
                    find_worker(options.worker),
                    options.gpu,
                    limits_us,
                    tell,
                    searches ? weights_for_search(log()) : schedules::default_weights()};
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

LogContext EngineState::log() {
  return {*cache, key_of(""), target, [this](const std::string& text) { return parse(text); }};
}

Limits EngineState::limits() {
  CeilingStore store{
      [this](const std::string& name) { return cache->ceiling(target_text, name); },
      [this](const std::string& name, double r) { cache->keep_ceiling(target_text, name, r); }};
  return Limits(target, services->pool(), services->gpu(), std::move(store));
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
