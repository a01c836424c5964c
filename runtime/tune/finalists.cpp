// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include "jit/ir/sort.h"
#include "runtime/measure/bound.h"
#include "runtime/tune/run.h"
#include "schedules/numerics.h"

namespace hone::runtime {
namespace {

/// Chosen: time for the ranking, and noise of a trial (not measured).
constexpr size_t kFinalists = 5;      // of the search; records and the default come on top
constexpr size_t kRecords = 3;        // of earlier runs
constexpr double kInReach = 1.15;     // times the best: no finalist beyond
constexpr double kSlowUs = 20'000;    // such kernels are ranked among fewer
constexpr int kFewRounds = 3;         // fewer say nothing of a ratio
constexpr double kOutranked = 1.001;  // times the winner's: what a stale record counts as
constexpr double kSurely = 0.9;       // what a run that was stopped has to gain on a finished one

bool unfinished(const Record& r) { return r.note == kUnfinished; }

}  // namespace

/// The incumbent first: the best record of a finished run, else the default. Then the best of the
/// log, which has its turn however late it is, the default, the other records, and the fastest of
/// the log.
std::vector<std::string> TuneRun::finalists(const std::vector<Record>& known) const {
  std::vector<std::string> texts;
  const auto add = [&](const std::string& text) {
    if (std::find(texts.begin(), texts.end(), text) == texts.end()) texts.push_back(text);
  };
  const auto incumbent = std::find_if_not(known.begin(), known.end(), unfinished);
  if (incumbent != known.end()) add(incumbent->schedule);
  if (texts.empty() && !default_.empty()) add(default_);
  add(best_);
  if (!default_.empty()) add(default_);
  for (size_t r = 0; r < known.size() && r < kRecords; ++r) add(known[r].schedule);
  std::vector<Timed> order = timed();
  std::erase_if(order, [&](const Timed& t) { return t.time_us > best_us_ * kInReach; });
  ir::stable_sort(order, [](const auto& a, const auto& b) { return a.time_us < b.time_us; });
  const size_t most = texts.size() + (best_us_ > kSlowUs ? 2 : kFinalists);
  for (const Timed& t : order) {
    if (texts.size() < most) add(t.schedule);
  }
  return texts;
}

/// The finalists again, checked again in a fresh worker, side by side.
Result<Done> TuneRun::rank_finalists() {
  std::vector<Record> known = job_.cache.good(job_.key);
  std::erase_if(known, [&](const Record& r) { return !candidates_.allowed(r.schedule); });
  const std::vector<std::string> texts = finalists(known);
  // Alone and checked by this run, it needs no second look.
  if (texts.size() == 1 && texts[0] == best_ && best_checked_) {
    settle_records(known, {});
    return Done{};
  }
  trials_.refresh();
  const TrialTiming timing = this->timing(0);
  std::vector<std::vector<std::vector<double>>> points(texts.size());
  const RankMeasure measure = [&](size_t i) -> Result<std::optional<RankSample>> {
    if (gave_up_) return std::optional<RankSample>();
    limits_.look_sometimes();
    auto tried = trials_.run(texts[i], timing);
    // Where no worker lasts, the times of the search have to do.
    if (!tried && tried.failure().code != ErrorCode::kCancelled) gave_up_ = true;
    if (!tried) return tried.failure();
    if (tried->late() || tried->lost()) {
      gave_up_ = true;
      return std::optional<RankSample>();
    }
    if (tried->ok()) {
      if (!tried->disturbed) points[i].push_back(tried->points_us);
      return std::optional(RankSample{tried->median_us, tried->disturbed, tried->cores});
    }
    if (!tried->refused()) {
      ++failed_;
      quarantine(texts[i], *tried);
    }
    return std::optional<RankSample>();
  };
  const TuneOptions& o = job_.options;
  RankOptions options;
  options.rounds = o.effort == Effort::kQuick ? 5 : 9;
  options.before_round = [&] { trials_.place_operands(); };
  options.out_of_time = [&] {
    return o.stop.stop_requested() || (o.budget.count() > 0 && Clock::now() - start_ >= o.budget);
  };
  auto ranking = rank(texts, measure, options);
  if (!ranking && ranking.failure().code == ErrorCode::kCancelled) return ranking.failure();
  if (!ranking) {
    return Failure{ranking.failure().code,
                   "`" + job_.key.problem + "`: " + ranking.failure().message};
  }
  take_ranking(*ranking, texts, points);
  std::unordered_map<std::string, double> ranked_us;
  for (size_t i = 0; i < texts.size(); ++i) {
    if (ranking->times_us[i] > 0) ranked_us[texts[i]] = ranking->times_us[i];
  }
  settle_records(known, ranked_us);
  return Done{};
}

/// The winner's figures, and the default's, from rounds that measured both.
void TuneRun::take_ranking(const Ranking& ranking, const std::vector<std::string>& texts,
                           const std::vector<std::vector<std::vector<double>>>& points) {
  const auto spread = [&](size_t i) {
    Spread s = ranking.spreads[i];
    s.median = ranking.times_us[i];
    s.low = s.low > 0 ? std::min(s.low, s.median) : s.median;
    s.high = std::max(s.high, s.median);
    return s;
  };
  rounds_ = ranking.counted;
  noisy_rounds_ = ranking.noisy;
  best_ = texts[ranking.winner];
  best_spread_ = spread(ranking.winner);
  best_us_ = best_spread_.median;
  best_samples_ = {best_spread_.low, best_us_, best_spread_.high};
  const auto untuned = std::find(texts.begin(), texts.end(), default_);
  const auto d = static_cast<size_t>(untuned - texts.begin());
  if (!default_.empty() && d < texts.size() && ranking.times_us[d] > 0) {
    default_spread_ = spread(d);
    default_us_ = default_spread_.median;
    compared_ = rounds_ >= kFewRounds;
  }
  // Each point's median, all by the yardstick of the ranking.
  best_points_us_.clear();
  const auto& measured = points[ranking.winner];
  double logs = 0;
  for (size_t p = 0; !measured.empty() && p < measured[0].size(); ++p) {
    std::vector<double> all;
    for (const auto& m : measured) {
      if (p < m.size()) all.push_back(m[p]);
    }
    best_points_us_.push_back(median(std::move(all)));
    logs += std::log(best_points_us_.back());
  }
  const auto count = static_cast<double>(best_points_us_.size());
  for (double& us : best_points_us_) us *= best_us_ / std::exp(logs / count);
}

/// Times, how far they are to be trusted, and their shares of the limit.
void TuneRun::tell_figures(TuneResult* r) const {
  const Spread samples = spread_of(best_samples_);
  r->time_low_us = best_spread_.low > 0 ? best_spread_.low : std::min(samples.low, best_us_);
  r->time_high_us = best_spread_.low > 0 ? best_spread_.high : std::max(samples.high, best_us_);
  r->default_low_us = default_spread_.low;
  r->default_high_us = default_spread_.high;
  r->rounds = rounds_;
  r->noisy_rounds = noisy_rounds_;
  if (compared_) r->speedup = default_us_ / best_us_;
  r->limit_us = limits_.limit_us();
  const Share share = limits_.share(best_us_);
  r->of_limit = share.of_limit;
  r->busy = share.busy;
  const ir::Program& program = job_.problem.program;
  const auto at = timing_points(program);
  for (size_t p = 0; at.size() > 1 && p < at.size() && p < best_points_us_.size(); ++p) {
    TunePoint point{text_of_dims(program, at[p]), best_points_us_[p], 0, 0};
    if (p < limits_.limits_us().size()) point.limit_us = limits_.limits_us()[p];
    point.of_limit = share_of(point.limit_us, point.time_us).of_limit;
    r->points.push_back(std::move(point));
  }
}

/// Keeps the winner, and lets no other record be served before it. Ranked records count as ranked.
/// An old record that was not ranked now, and claims to be faster, counts as beaten.
void TuneRun::settle_records(const std::vector<Record>& known,
                             const std::unordered_map<std::string, double>& ranked_us) {
  job_.cache.put(record());
  for (Record r : known) {
    // What the ranking found wrong was good when it was read.
    if (r.schedule == best_ || !candidates_.allowed(r.schedule)) continue;
    const auto ranked = ranked_us.find(r.schedule);
    const bool fresh = ranked != ranked_us.end();
    const double least = best_us_ * kOutranked;
    if (!fresh && !unfinished(r) && r.median_us >= least) continue;
    r.median_us = std::max(fresh ? ranked->second : r.median_us, least);
    r.samples_us = {r.median_us};
    r.note.clear();
    job_.cache.put(r);
  }
}

Record TuneRun::record() const {
  Record r;
  r.key = job_.key;
  r.schedule = best_;
  r.median_us = best_us_;
  r.samples_us = best_samples_;
  r.numerics = result().numerics;
  r.seed = job_.options.seed;
  return r;
}

/// What a run that was stopped found serves from now on, and the next run carries on all the same.
/// It was not ranked: a record that was keeps its place unless that gains much.
void TuneRun::keep_stopped() {
  const auto known = job_.cache.best(job_.key);
  if (known && !unfinished(*known) && best_us_ > kSurely * known->median_us) return;
  Record r = record();
  r.note = kUnfinished;
  job_.cache.put(r);
}

}  // namespace hone::runtime
