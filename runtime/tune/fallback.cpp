// SPDX-License-Identifier: Apache-2.0
// What a run measures where the back end refuses what the rules thought of.
#include "runtime/build/compile.h"
#include "runtime/tune/run.h"

namespace hone::runtime {

/// True where the schedule gives code; of a GPU's the source, since its compiler takes long.
bool TuneRun::compiles(const std::string& schedule) const {
  // A bug is told where a worker meets it.
  return static_cast<bool>(compile_schedule(job_.problem.program, job_.target, schedule));
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
