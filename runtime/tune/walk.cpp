// SPDX-License-Identifier: Apache-2.0
// Where the points of the spaces no longer improve: schedules by legal steps, drawn at random
// around the fastest so far. The estimate picks those that are worth a trial.
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
constexpr uint64_t kBarren = 40;     // rounds that give nothing new, one after the other
constexpr size_t kParents = 12;      // of the fastest, whose steps are varied
constexpr int kSteps = 10;           // of a schedule drawn afresh, at most
constexpr double kFresh = 0.1;       // share of those
constexpr size_t kInVain = 1000;     // tries, where nothing but the search itself ends it
constexpr size_t kPool = 9;          // schedules of a round
constexpr size_t kTried = 3;         // of those, the cheapest by estimate, that are tried
constexpr double kAbove = 4;         // times the best's estimate: not worth a trial
constexpr uint64_t kPointEvery = 4;  // rounds, then a point of the spaces as well

}  // namespace

bool TuneRun::resume_walk(const Trial& trial) { return trial.note.starts_with(kWalked); }

/// Draw `number`: a variation of one of the parents, which are the likelier the faster they are.
std::string TuneRun::vary(uint64_t number, const std::vector<Timed>& parents) const {
  schedules::Random random(job_.options.seed * 0x9e3779b97f4a7c15 + number);
  schedules::RandomSchedules steps(job_.problem.program, job_.target, random.next());
  const size_t count = std::min(parents.size(), kParents);
  if (count == 0 || random.chance(kFresh)) {
    return steps.next(2 + static_cast<int>(random.below(kSteps - 1)), nullptr).text();
  }
  const size_t pick = std::min(random.below(count), random.below(count));
  const auto parent = schedules::Schedule::parse(parents[pick].schedule);
  return parent ? steps.vary(*parent).text() : std::string();
}

/// The cheapest, by estimate, of a pool of new schedules.
std::vector<std::string> TuneRun::propose_steps(uint64_t round) {
  std::vector<Timed> parents = timed();
  ir::stable_sort(parents, [](const Timed& a, const Timed& b) { return a.time_us < b.time_us; });
  std::vector<std::pair<double, std::string>> pool;
  const double most = best_us_ > 0 ? kAbove * candidates_.estimate(best_) : kInfinite;
  const uint64_t first = (tried() * kBarren + round) * kPool;
  for (uint64_t number = first; number < first + kPool; ++number) {
    std::string schedule;
    try {
      schedule = vary(number, parents);
    } catch (const InternalError& bug) {
      // A defect that only steps drawn at random meet is no reason to end a search.
      if (job_.on_bug) {
        job_.on_bug(fmt::format("a random step: {} ({} | {})", bug.what(), job_.key.problem,
                                job_.key.target));
      }
    }
    if (schedule.empty() || seen_.count(schedule) != 0 || !candidates_.allowed(schedule)) continue;
    const auto same = [&](const auto& other) { return other.second == schedule; };
    if (std::any_of(pool.begin(), pool.end(), same)) continue;
    const double cycles = candidates_.estimate(schedule);
    if (cycles <= most) pool.emplace_back(cycles, std::move(schedule));
  }
  ir::stable_sort(pool, [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<std::string> out;
  for (size_t i = 0; i < pool.size() && i < kTried; ++i) out.push_back(std::move(pool[i].second));
  return out;
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
  uint64_t barren = 0;
  for (uint64_t round = 1; !finished(); ++round) {
    if (!bounded() && seen_.size() - improved_at_ > kInVain) {
      end_ = TuneEnd::kConverged;
      break;
    }
    if (round % kPointEvery == 0) {
      for (const schedules::Candidate& c : propose_points(1)) {
        if (auto done = attempt(c); !done) return done;
      }
      if (finished()) break;
    }
    const std::vector<std::string> schedules = propose_steps(barren);
    barren = schedules.empty() ? barren + 1 : 0;
    if (barren == kBarren) {
      end_ = TuneEnd::kExhausted;
      break;
    }
    for (const std::string& schedule : schedules) {
      if (finished()) break;
      if (auto done = attempt_steps(schedule); !done) return done;
    }
  }
  return Done{};
}

}  // namespace hone::runtime
