// SPDX-License-Identifier: Apache-2.0
#include "runtime/tune/ranking.h"

#include <algorithm>
#include <cmath>

#include "jit/ir/sort.h"
#include "runtime/measure/samples.h"

namespace hone::runtime {
namespace {

/// Chosen: noise of a loaded machine (not measured).
constexpr double kSteady = 0.1;  // two times of one schedule this far apart: a disturbed round
constexpr double kTie = 0.01;    // no clock tells less apart
constexpr size_t kLeast = 2;     // finalists that are timed, however late it is
constexpr int kMostRounds = 3;   // times those wanted
constexpr int kTries = 3;        // of a measurement that is disturbed

/// One round: a time per finalist, and two of the yardstick.
struct Round {
  std::vector<double> times, cores;
  double first = 0, last = 0;
  bool disturbed = false;
  bool cut_short = false;

  double yardstick() const { return std::sqrt(first * last); }
  double spread() const { return std::fabs(std::log(last / first)); }
  bool steady() const { return !disturbed && spread() <= kSteady; }
};

/// A ranking under way.
class Ranker {
 public:
  Ranker(std::span<const std::string> finalists, const RankMeasure& measure,
         const RankOptions& options)
      : finalists_(finalists),
        measure_(measure),
        options_(options),
        alive_(finalists.size(), true),
        cores_(finalists.size(), 0) {}

  Result<Ranking> go();

 private:
  Result<std::optional<RankSample>> sample(size_t i);
  Result<Done> play(Round& round);
  int steady_rounds();
  Ranking conclude();
  bool late() const { return options_.out_of_time && options_.out_of_time(); }
  size_t choose(const std::vector<double>& ratios, double noise) const;
  /// The first finalist that is left.
  size_t yardstick() const {
    return static_cast<size_t>(std::find(alive_.begin(), alive_.end(), true) - alive_.begin());
  }

  std::span<const std::string> finalists_;
  const RankMeasure& measure_;
  const RankOptions& options_;
  std::vector<bool> alive_;
  std::vector<double> cores_;  ///< the most that were at work on each finalist
  std::vector<Round> rounds_;
};

/// Tries again where a thread had no core; what is disturbed all the same is marked so.
Result<std::optional<RankSample>> Ranker::sample(size_t i) {
  for (int left = kTries;; --left) {
    auto measured = measure_(i);
    if (measured && !*measured) alive_[i] = false;
    if (!measured || !*measured) return measured;
    RankSample& s = **measured;
    cores_[i] = std::max(cores_[i], s.cores);
    s.disturbed |= lacks_cores(s.cores, cores_[i]);
    if (!s.disturbed || left <= 1 || late()) return measured;
  }
}

/// Everyone once, and the yardstick again. Out of time, who was never timed drops out of the first
/// round, and a later one is cut short.
Result<Done> Ranker::play(Round& round) {
  round.times.assign(finalists_.size(), 0);
  round.cores.assign(finalists_.size(), 0);
  size_t timed = 0;
  for (size_t i = 0; i < finalists_.size(); ++i) {
    if (rounds_.empty() && timed >= kLeast && late()) alive_[i] = false;
    if (!alive_[i]) continue;
    if (!rounds_.empty() && late()) {
      round.cut_short = true;
      return Done{};
    }
    auto measured = sample(i);
    if (!measured) return measured.failure();
    if (!*measured) continue;
    ++timed;
    round.times[i] = (*measured)->time_us;
    round.cores[i] = (*measured)->cores;
    round.disturbed |= (*measured)->disturbed;
  }
  const size_t fixed = yardstick();
  if (fixed == finalists_.size()) return Done{};
  auto again = sample(fixed);
  if (!again) return again.failure();
  if (!*again) return Done{};
  round.first = round.times[fixed];
  round.last = (*again)->time_us;
  // Of two times the one with all cores is the yardstick, for all that the round is worth.
  if (lacks_cores(round.cores[fixed], (*again)->cores)) {
    round.first = round.last;
    round.cores[fixed] = (*again)->cores;
    round.disturbed = true;
  } else if (lacks_cores((*again)->cores, round.cores[fixed])) {
    round.last = round.first;
  }
  round.disturbed |= (*again)->disturbed;
  return Done{};
}

/// A round from before it was known how many cores the yardstick has says nothing.
int Ranker::steady_rounds() {
  int steady = 0;
  for (Round& r : rounds_) {
    r.disturbed |= lacks_cores(r.cores[yardstick()], cores_[yardstick()]);
    steady += r.steady();
  }
  return steady;
}

Result<Ranking> Ranker::go() {
  const int most = kMostRounds * options_.rounds;
  for (int made = 0; steady_rounds() < options_.rounds && made < most; ++made) {
    if (!rounds_.empty() && late()) break;
    Round round;
    const size_t fixed = yardstick();
    if (options_.before_round) options_.before_round();
    auto played = play(round);
    if (!played) return played.failure();
    if (round.cut_short) break;
    if (yardstick() == finalists_.size()) {
      return Failure{ErrorCode::kInternal, "no finalist is left"};
    }
    if (yardstick() != fixed) {
      // Nothing can be held against one that is gone.
      rounds_.clear();
      continue;
    }
    rounds_.push_back(std::move(round));
  }
  if (rounds_.empty()) return Failure{ErrorCode::kInternal, "no finalist passed twice"};
  return conclude();
}

/// Counts the steadiest rounds.
Ranking Ranker::conclude() {
  ir::stable_sort(rounds_, [](const Round& a, const Round& b) {
    return a.disturbed != b.disturbed ? b.disturbed : a.spread() < b.spread();
  });
  Ranking ranking;
  ranking.counted = steady_rounds();
  ranking.noisy = static_cast<int>(rounds_.size()) - ranking.counted;
  if (rounds_.size() > static_cast<size_t>(options_.rounds)) {
    rounds_.resize(static_cast<size_t>(options_.rounds));
  }
  std::vector<double> lengths;
  for (const Round& r : rounds_) {
    ranking.noise += r.spread() * r.spread() / static_cast<double>(rounds_.size());
    lengths.push_back(r.yardstick());
  }
  ranking.noise = std::sqrt(ranking.noise);
  std::vector<double> ratios;
  for (size_t i = 0; i < finalists_.size(); ++i) {
    std::vector<double> all, lacking, times;
    for (const Round& r : rounds_) {
      if (!alive_[i]) continue;
      const double time = i == yardstick() ? r.yardstick() : r.times[i];
      const bool lacks = lacks_cores(r.cores[i], cores_[i]);
      (lacks ? lacking : all).push_back(time / r.yardstick());
      if (!lacks) times.push_back(time);
    }
    ranking.spreads.push_back(spread_of(std::move(times)));
    ratios.push_back(median(all.empty() ? lacking : all));
    ranking.times_us.push_back(ratios.back() * median(lengths));
  }
  // More than a steady round has says that none was: no reason to keep whatever there is.
  ranking.winner = choose(ratios, std::min(ranking.noise, kSteady));
  return ranking;
}

size_t Ranker::choose(const std::vector<double>& ratios, double noise) const {
  double best = ratios[yardstick()];
  for (double r : ratios) {
    if (r > 0) best = std::min(best, r);
  }
  const double gain = 1 + std::max(options_.least_gain, noise);
  if (alive_[0] && ratios[0] <= best * gain) return 0;
  const double tie = best * (1 + std::max(kTie, noise));
  size_t winner = finalists_.size();
  for (size_t i = 0; i < ratios.size(); ++i) {
    const bool fell_short = alive_[0] && ratios[0] <= ratios[i] * gain;
    if (ratios[i] <= 0 || ratios[i] > tie || fell_short) continue;
    const auto rank_of = [&](size_t k) { return std::pair(finalists_[k].size(), ratios[k]); };
    if (winner == finalists_.size() || rank_of(i) < rank_of(winner)) winner = i;
  }
  return winner;
}

}  // namespace

Result<Ranking> rank(std::span<const std::string> finalists, const RankMeasure& measure,
                     const RankOptions& options) {
  return Ranker(finalists, measure, options).go();
}

}  // namespace hone::runtime
