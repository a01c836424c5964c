// SPDX-License-Identifier: Apache-2.0
#include "runtime/cli/fuzz_speed.h"

#include <algorithm>
#include <cmath>

#include "jit/interp/reference.h"
#include "ops/random.h"
#include "runtime/measure/bound.h"

namespace hone::runtime {
namespace {

using Clock = std::chrono::steady_clock;

/// Memory that a problem may take.
/// Chosen: a small part of a machine's memory (not measured).
constexpr double kMostBytes = 1e9;

/// For a problem that was faster than its limit.
/// Chosen: some measurements of the limit between trials (not measured).
constexpr std::chrono::milliseconds kSecondLook{300};

/// What the tensors of a call take, whether or not it needs all of them.
double tensor_bytes(const ir::Program& program) {
  double bytes = 0;
  for (const jit::TensorView& v : jit::parameter_views(program, timing_dims(program))) {
    bytes += static_cast<double>(jit::bytes_of(v));
  }
  return bytes;
}

/// The slowest of what the limit allows where the program is timed, in microseconds.
double limit_of(const ir::Program& program, Limits* limits) {
  double us = 0;
  for (const auto& dims : timing_points(program)) {
    us = std::max(us, bound_of(program, dims, limits).time_us);
  }
  return us;
}

}  // namespace

SpeedRun fuzz_speed(EngineState& engine, const SpeedOptions& options) {
  SpeedRun run;
  ops::RandomOptions kind;
  kind.most_dim = 4096;
  kind.most_points = 2e8;
  kind.most_terms = 1e5;
  Limits limits = engine.limits();
  const auto end = Clock::now() + options.time;
  for (uint64_t seed = options.seed; Clock::now() < end; ++seed) {
    auto problem = engine.parse(ops::random_problem(seed, kind));
    if (!problem) continue;
    const ir::Program& program = problem->program;
    if (tensor_bytes(program) > kMostBytes) continue;
    const double limit_us = limit_of(program, &limits);
    if (limit_us < options.least_us || limit_us > options.most_us) continue;
    const std::string line = problem->text + " | " + engine.target_text;
    TuneOptions tuning;
    tuning.budget = options.budget;
    tuning.seed = seed;
    auto result = engine.tune(*problem, tuning);
    if (result && result->busy) {
      // In a moment that may be quieter, and with time to measure the limit between trials.
      limits.again();
      tuning.budget = std::max(tuning.budget, kSecondLook);
      tuning.again = true;
      result = engine.tune(*std::move(problem), tuning);
    }
    const bool too_large = !result && (result.failure().code == ErrorCode::kUnsupported ||
                                       result.failure().code == ErrorCode::kMemory);
    if (too_large) {
      ++run.unknown;  // its data are not made within the budget, or its temporaries find no room
    } else if (!result) {
      run.failed.push_back(result.failure().message + "\n  " + line);
    } else if (result->limit_us <= 0 || result->default_us <= 0) {
      ++run.unknown;
    } else {
      auto& kind = result->busy ? run.beaten : run.samples;
      kind.push_back({line, result->limit_us, result->default_us, result->time_us});
    }
  }
  return run;
}

double percentile(std::vector<double> values, double share) {
  const auto at = static_cast<size_t>(std::lround(share * static_cast<double>(values.size() - 1)));
  std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(at), values.end());
  return values[at];
}

}  // namespace hone::runtime
