// SPDX-License-Identifier: Apache-2.0
// Where the points of the spaces end far from the machine's limit: schedules by legal steps, drawn
// at random around the fastest so far.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "jit/ir/sort.h"
#include "runtime/tune/run.h"
#include "schedules/search/random_steps.h"
#include "schedules/search/sampling.h"

namespace hone::runtime {
namespace {

/// Chosen: variety of a search of minutes (not measured).
constexpr uint64_t kBarren = 400;  // draws that give nothing new, one after the other
constexpr size_t kParents = 12;    // of the fastest, whose steps are varied
constexpr int kSteps = 10;         // of a schedule drawn afresh, at most
constexpr double kFresh = 0.1;     // share of those
constexpr size_t kInVain = 1000;   // tries, where nothing but the search itself ends it

}  // namespace

bool TuneRun::resume_walk(const Trial& trial) { return trial.note.starts_with(kWalked); }

/// Draw `number`: a variation of one of the fastest, which are the likelier the faster they are.
std::string TuneRun::propose_steps(uint64_t number) const {
  schedules::Random random(job_.options.seed * 0x9e3779b97f4a7c15 + number);
  schedules::RandomSchedules steps(job_.problem.program, job_.target, random.next());
  std::vector<Timed> parents = timed();
  ir::stable_sort(parents, [](const Timed& a, const Timed& b) { return a.time_us < b.time_us; });
  const size_t count = std::min(parents.size(), kParents);
  if (count == 0 || random.chance(kFresh)) {
    return steps.next(2 + static_cast<int>(random.below(kSteps - 1)), nullptr).text();
  }
  const size_t pick = std::min(random.below(count), random.below(count));
  const auto parent = schedules::Schedule::parse(parents[pick].schedule);
  return parent ? steps.vary(*parent).text() : std::string();
}

/// A trial of a schedule that is no point of a space.
Result<Done> TuneRun::attempt_steps(const std::string& schedule) {
  auto outcome = try_schedule(schedule);
  if (!outcome) return outcome.failure();
  walk_.push_back({schedule, outcome->ok() || outcome->slow() ? outcome->median_us : kInfinite});
  note(std::string(kWalked), schedule, *outcome);
  report(false);
  return Done{};
}

/// Goes on until the budget ends, the limit comes into reach, or no step is new. Not on a GPU,
/// whose compiler takes too long.
Result<Done> TuneRun::walk() {
  if (job_.target.is_cuda()) return Done{};
  const TuneOptions& o = job_.options;
  const bool bounded = o.budget.count() > 0 || o.trials > 0;
  uint64_t barren = 0;
  while (!finished() && (best_us_ == 0 || limits_.far(best_us_))) {
    if (!bounded && seen_.size() - improved_at_ > kInVain) break;
    std::string schedule;
    try {
      schedule = propose_steps(tried() * kBarren + barren);
    } catch (const InternalError& bug) {
      // A defect that only steps drawn at random meet is no reason to end a search.
      if (job_.on_bug) {
        job_.on_bug(fmt::format("a random step: {} ({} | {})", bug.what(), job_.key.problem,
                                job_.key.target));
      }
    }
    if (schedule.empty() || seen_.count(schedule) != 0 || !candidates_.allowed(schedule)) {
      if (++barren >= kBarren) break;
      continue;
    }
    barren = 0;
    if (auto done = attempt_steps(schedule); !done) return done;
  }
  return Done{};
}

}  // namespace hone::runtime
