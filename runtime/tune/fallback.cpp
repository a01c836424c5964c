// SPDX-License-Identifier: Apache-2.0
// What a run measures where the back end refuses what the rules thought of.
#include "jit/code.h"
#include "jit/passes/lower.h"
#include "runtime/tune/run.h"

namespace hone::runtime {

/// True where the schedule gives machine code; on a GPU, whose compiler takes long, where it
/// lowers.
bool TuneRun::compiles(const std::string& schedule) const {
  const auto steps = schedules::Schedule::parse(schedule);
  if (!steps) return false;
  const auto program = schedules::apply(job_.problem.program, *steps);
  if (!program) return false;
  const auto nest = jit::lower(*program, job_.target);
  if (!nest || job_.target.is_cuda()) return static_cast<bool>(nest);
  try {
    return static_cast<bool>(jit::compile_x86(*nest, job_.target, {}));
  } catch (const InternalError&) {
    return false;  // told where a worker meets it
  }
}

/// Where the analytic structure is refused, what serves in its place is one more to search.
void TuneRun::add_fallback() {
  if (job_.target.is_cuda() || job_.target.vector_bytes() == 0 || compiles(default_)) return;
  const schedules::Schedule fallback = schedules::fallback_schedule(
      job_.problem.program, job_.target,
      [&](const schedules::Schedule& s) { return allowed(s.text()) && compiles(s.text()); });
  default_ = fallback.text();
  if (!fallback.steps.empty()) spaces_.push_back({fallback, {}});
}

/// Where nothing could be measured, the loops as they stand: something is better than nothing.
Result<std::monostate> TuneRun::try_plain_loops() {
  for (size_t s = 0; s < spaces_.size(); ++s) {
    if (!spaces_[s].schedule.steps.empty() || seen_.count("") != 0) continue;
    return attempt({static_cast<int>(s), {}});
  }
  return std::monostate{};
}

}  // namespace hone::runtime
