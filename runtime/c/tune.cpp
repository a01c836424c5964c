// SPDX-License-Identifier: Apache-2.0
// The C interface: tuning, of a problem and of a model.
#include <chrono>
#include <stop_token>
#include <utility>

#include "runtime/c/handles.h"

namespace hone::runtime {
namespace {

static_assert(HONE_TUNE_EXHAUSTED == static_cast<int>(TuneEnd::kExhausted));

TuneOptions options_of(const hone_tune_options& c, std::stop_source* stop) {
  TuneOptions o;
  if (c.budget_ms > 0) o.budget = std::chrono::milliseconds(c.budget_ms);
  o.trials = c.trials;
  if (c.seed != 0) o.seed = c.seed;
  o.effort = c.full ? Effort::kFull : Effort::kQuick;
  o.again = c.again != 0;
  o.stop = stop->get_token();
  if (c.progress) {
    o.progress = [c, stop](const TuneProgress& p) {
      if (c.progress(c.progress_context, p.trials, p.best_us, p.default_us) != 0) {
        stop->request_stop();
      }
    };
  }
  return o;
}

hone_tune_result result_of(const TuneResult& r) {
  return {sizeof(hone_tune_result),
          r.time_us,
          r.default_us,
          r.speedup,
          r.limit_us,
          r.trials,
          r.end == TuneEnd::kHit,
          static_cast<int32_t>(r.end),
          r.of_limit,
          r.expected_gain};
}

}  // namespace
}  // namespace hone::runtime

using namespace hone;
using namespace hone::runtime;

hone_status hone_engine_tune(hone_engine* engine, const char* problem,
                             const hone_tune_options* options, hone_tune_result* result,
                             char** error) {
  return c_guard(error, [&]() -> Result<Done> {
    if (!engine || !problem) return c_missing(engine ? "problem" : "engine");
    std::stop_source stop;
    const auto tuned = engine->engine.try_tune(problem, options_of(c_options(options), &stop));
    if (!tuned) return tuned.failure();
    c_result(result, result_of(*tuned));
    return Done{};
  });
}

hone_status hone_engine_tune_model(hone_engine* engine, const hone_model* model,
                                   const hone_tune_options* options, hone_tuned_kernel tuned,
                                   void* context, char** error) {
  return c_guard(error, [&]() -> Result<Done> {
    if (!engine || !model) return c_missing(engine ? "model" : "engine");
    std::stop_source stop;
    const auto results =
        engine->engine.try_tune(model->model, options_of(c_options(options), &stop));
    if (!results) return results.failure();
    for (const TuneResult& r : *results) {
      const hone_tune_result c = result_of(r);
      if (tuned) tuned(context, r.problem.c_str(), r.schedule.c_str(), &c);
    }
    return Done{};
  });
}
