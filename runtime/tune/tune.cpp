// SPDX-License-Identifier: Apache-2.0
#include "runtime/tune/tune.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "runtime/tune/run.h"
#include "schedules/model/model.h"
#include "schedules/numerics.h"

namespace hone::runtime {
namespace {

constexpr double kInfinite = std::numeric_limits<double>::infinity();
constexpr int kBatch = 8;
constexpr double kImprovement = 0.99;  // a gain below 1% does not keep a search going
constexpr double kAtLimit = 0.97;
constexpr double kPastLimit = 1.05;
constexpr double kGiveUp = 1.3;  // one sample is enough for candidates this much slower
constexpr std::string_view kUnfinished = "stopped before the search's end";
constexpr auto kReportEvery = std::chrono::milliseconds(200);

/// Trials without improvement after which a search ends.
size_t patience(Effort effort, size_t knobs) {
  return effort == Effort::kQuick ? 24 + 4 * knobs : 120 + 20 * knobs;
}

TrialTiming timing_of(Effort effort, double best_us) {
  TrialTiming t;
  t.samples = effort == Effort::kQuick ? 5 : 9;
  t.sample_us = effort == Effort::kQuick ? 300 : 1000;
  t.give_up_us = best_us * kGiveUp;
  return t;
}

}  // namespace

TuneRun::TuneRun(const TuneJob& job)
    : job_(job),
      trials_(job.worker, job.key.problem, job.key.target),
      spaces_(schedules::derive_space(job.problem.program, job.target)) {
  constexpr std::string_view names[] = {"evolve", "random", "descent"};
  strategy_ = schedules::strategy_named(names[static_cast<size_t>(job.options.strategy)]);
  run_ = fmt::format("seed={} strategy={} effort={}", job.options.seed, strategy_->name,
                     job.options.effort == Effort::kQuick ? "quick" : "full");
}

std::string TuneRun::text_of(const schedules::Candidate& c) const {
  return schedules::fix(spaces_[static_cast<size_t>(c.space)].schedule, c.values).text();
}

/// A pinned numerics class admits only schedules of that class.
bool TuneRun::allowed(const std::string& schedule) const {
  const std::string& pinned = job_.problem.numerics;
  if (pinned == "any") return true;
  auto parsed = schedules::Schedule::parse(schedule);
  if (!parsed) return false;
  auto program = schedules::apply(job_.problem.program, *parsed);
  return program &&
         schedules::admits(pinned, schedules::numerics_class(job_.problem.program, *program));
}

double TuneRun::cost(const schedules::Candidate& c) const {
  const std::string text = text_of(c);
  if (seen_.count(text) != 0 || !allowed(text)) return kInfinite;
  auto parsed = schedules::Schedule::parse(text);
  if (!parsed) return kInfinite;
  auto program = schedules::apply(job_.problem.program, *parsed);
  return program ? schedules::estimate(*program, job_.target) : kInfinite;
}

/// Takes up the log of a run of the same name that did not come to its end.
void TuneRun::resume() {
  for (const Trial& t : job_.cache.trials(job_.key)) {
    if (t.run != run_) continue;
    for (size_t s = 0; s < spaces_.size(); ++s) {
      // The point is in the note, so that the strategy sees what it saw then.
      const std::string prefix = fmt::format("point={}:", s);
      if (t.note.rfind(prefix, 0) != 0) continue;
      schedules::Candidate c{static_cast<int>(s), {}};
      const char* at = t.note.data() + prefix.size();
      const auto knobs = schedules::knobs(spaces_[s].schedule).size();
      for (size_t k = 0; k < knobs; ++k) {
        char* next = nullptr;
        c.values.push_back(std::strtoll(at, &next, 10));
        at = *next == ',' ? next + 1 : next;
      }
      if (text_of(c) != t.schedule) break;  // the rules have changed since
      Outcome o{t.verdict, "", t.median_us, {}};
      if (log_.empty()) default_us_ = o.ok() ? o.median_us : 0;
      log_.push_back({c, o.ok() ? o.median_us : kInfinite});
      seen_[t.schedule] = log_.size() - 1;
      if (o.ok() && (best_us_ == 0 || o.median_us < best_us_)) {
        best_us_ = o.median_us;
        best_ = t.schedule;
        improved_at_ = log_.size();
      }
      break;
    }
  }
  resumed_ = log_.size();
}

/// What beats the limit says that the limit was measured while something else ran.
bool TuneRun::at_limit() const {
  if (job_.limit_us <= 0 || best_us_ <= 0) return false;
  const double share = job_.limit_us / best_us_;
  return share >= kAtLimit && share <= kPastLimit;
}

bool TuneRun::finished() {
  const TuneOptions& o = job_.options;
  const auto elapsed = Clock::now() - start_;
  size_t knobs = 0;
  for (const auto& s : spaces_) knobs = std::max(knobs, s.values.size());
  if (o.stop.stop_requested()) {
    end_ = TuneEnd::kStopped;
  } else if (o.budget.count() > 0 && elapsed >= o.budget) {
    end_ = TuneEnd::kBudget;
  } else if (o.trials > 0 && static_cast<int64_t>(log_.size() - resumed_) >= o.trials) {
    end_ = TuneEnd::kBudget;
  } else if (at_limit()) {
    end_ = TuneEnd::kLimit;
  } else if (log_.size() - improved_at_ > patience(o.effort, knobs)) {
    end_ = TuneEnd::kConverged;
  } else {
    return false;
  }
  return true;
}

Result<std::monostate> TuneRun::search() {
  while (!finished()) {
    schedules::SearchInput input{spaces_, job_.options.seed, log_,
                                 [this](const schedules::Candidate& c) { return cost(c); }};
    const auto batch = strategy_->propose(input, kBatch);
    if (batch.empty()) break;
    for (const schedules::Candidate& c : batch) {
      if (finished()) return std::monostate{};
      auto done = attempt(c);
      if (!done) return done.failure();
    }
  }
  return std::monostate{};
}

Result<std::monostate> TuneRun::attempt(const schedules::Candidate& c) {
  const std::string schedule = text_of(c);
  if (auto known = seen_.find(schedule); known != seen_.end()) {
    log_.push_back({c, log_[known->second].time_us});  // another point, the same schedule
    return std::monostate{};
  }
  Outcome outcome;
  if (allowed(schedule)) {
    auto tried = trials_.run(schedule, timing_of(job_.options.effort, best_us_));
    if (!tried) return tried.failure();
    outcome = std::move(*tried);
  } else {
    outcome = {"refused", "of another numerics class than " + job_.problem.numerics, 0, {}};
  }
  note(c, schedule, outcome);
  report(false);
  return std::monostate{};
}

void TuneRun::note(const schedules::Candidate& c, const std::string& schedule,
                   const Outcome& outcome) {
  std::string point = fmt::format("point={}:", c.space);
  for (size_t k = 0; k < c.values.size(); ++k)
    point += (k ? "," : "") + std::to_string(c.values[k]);
  job_.cache.log({job_.key, run_, static_cast<int64_t>(log_.size()), schedule, outcome.verdict,
                  outcome.median_us, point + (outcome.note.empty() ? "" : " " + outcome.note)});
  log_.push_back({c, outcome.ok() ? outcome.median_us : kInfinite});
  seen_[schedule] = log_.size() - 1;
  if (!outcome.ok()) last_trouble_ = outcome.verdict + ", " + outcome.note;
  if (outcome.refused()) {
    ++refused_;
  } else if (!outcome.ok()) {
    ++failed_;
    quarantine(schedule, outcome);
  } else {
    ++measured_;
    if (default_us_ == 0) {
      default_us_ = outcome.median_us;
      // Far slower than the untuned schedule is as good as hung.
      trials_.set_timeout_ms(static_cast<int>(std::clamp(default_us_ * 0.2, 5000.0, 600000.0)));
    }
    if (best_us_ == 0 || outcome.median_us < best_us_ * kImprovement) improved_at_ = log_.size();
    if (best_us_ == 0 || outcome.median_us < best_us_) {
      best_us_ = outcome.median_us;
      best_ = schedule;
      best_samples_ = outcome.samples_us;
    }
  }
}

void TuneRun::quarantine(const std::string& schedule, const Outcome& outcome) {
  Record r;
  r.key = job_.key;
  r.schedule = schedule;
  r.verdict = outcome.verdict;
  r.seed = job_.options.seed;
  r.note = outcome.note;
  job_.cache.put(r);
  if (job_.on_bug) {
    job_.on_bug(fmt::format("{}: {} ({} | {} | {})", outcome.verdict, outcome.note,
                            job_.key.problem, job_.key.target, schedule));
  }
}

/// The fastest few again, checked again, in a fresh worker and in turns, so that drift hits all of
/// them alike. A tie goes to the shorter schedule.
Result<std::monostate> TuneRun::rank_finalists() {
  constexpr size_t kFinalists = 4;
  constexpr int kRounds = 3;
  constexpr double kTie = 1.01;
  std::vector<schedules::Tried> order;
  for (const schedules::Tried& t : log_) {
    if (std::isfinite(t.time_us) && t.time_us <= best_us_ * 1.15) order.push_back(t);
  }
  std::stable_sort(order.begin(), order.end(),
                   [](const auto& a, const auto& b) { return a.time_us < b.time_us; });
  std::vector<std::string> texts;
  for (const schedules::Tried& t : order) {
    std::string text = text_of(t.candidate);
    if (std::find(texts.begin(), texts.end(), text) == texts.end())
      texts.push_back(std::move(text));
    if (texts.size() == kFinalists) break;
  }
  std::vector<std::vector<double>> samples(texts.size());
  trials_.refresh();
  TrialTiming timing = timing_of(job_.options.effort, 0);
  for (int round = 0; round < kRounds; ++round) {
    for (size_t i = 0; i < texts.size(); ++i) {
      if (round > 0 && samples[i].empty()) continue;
      auto tried = trials_.run(texts[i], timing);
      if (!tried) return tried.failure();
      if (!tried->ok()) {
        ++failed_;
        quarantine(texts[i], *tried);
        samples[i].clear();
        continue;
      }
      samples[i].push_back(tried->median_us);
    }
  }
  double best = 0;
  for (size_t i = 0; i < texts.size(); ++i) {
    if (samples[i].empty()) continue;
    std::sort(samples[i].begin(), samples[i].end());
    const double median = samples[i][samples[i].size() / 2];
    ranked_us_[texts[i]] = median;
    const bool simpler = texts[i].size() < best_.size();
    if (best > 0 && median >= best / kTie && !(simpler && median <= best * kTie)) continue;
    best = median;
    best_us_ = median;
    best_ = texts[i];
    best_samples_ = samples[i];
  }
  if (best == 0) {
    return Failure{ErrorCode::kInternal,
                   "no candidate of `" + job_.key.problem + "` passed a second check"};
  }
  return std::monostate{};
}

void TuneRun::report(bool last) {
  if (!job_.options.progress) return;
  const auto now = Clock::now();
  if (!last && now - reported_ < kReportEvery) return;
  reported_ = now;
  TuneProgress p;
  p.trials = static_cast<int64_t>(log_.size());
  p.failed = failed_;
  p.default_us = default_us_;
  p.best_us = best_us_;
  p.of_limit = best_us_ > 0 ? job_.limit_us / best_us_ : 0;
  p.elapsed = now - start_;
  if (job_.options.budget.count() > 0 && !last) {
    p.left = std::max<std::chrono::duration<double>>(job_.options.budget - (now - start_),
                                                     std::chrono::duration<double>(0));
  }
  p.best = best_;
  job_.options.progress(p);
}

TuneResult TuneRun::result() const {
  TuneResult r;
  r.problem = job_.key.problem;
  r.target = job_.key.target;
  r.schedule = best_;
  if (auto parsed = schedules::Schedule::parse(best_)) {
    if (auto program = schedules::apply(job_.problem.program, *parsed)) {
      r.numerics = schedules::numerics_class(job_.problem.program, *program);
    }
  }
  r.end = end_;
  r.time_us = best_us_;
  r.default_us = default_us_;
  r.of_limit = best_us_ > 0 ? job_.limit_us / best_us_ : 0;
  r.trials = static_cast<int64_t>(log_.size() - resumed_);
  r.measured = measured_;
  r.rejected = refused_;
  r.failed = failed_;
  r.seconds = std::chrono::duration<double>(Clock::now() - start_).count();
  return r;
}

/// Records of runs that were stopped are no longer the last word on this problem: they count as
/// they were ranked beside the others.
void TuneRun::finish_stopped() {
  constexpr int kMost = 16;  // of a shipped cache, which nothing changes, they come again
  for (int i = 0; i < kMost; ++i) {
    auto stopped = job_.cache.best(job_.key);
    if (!stopped || stopped->note != kUnfinished) return;
    stopped->note.clear();
    if (const auto ranked = ranked_us_.find(stopped->schedule); ranked != ranked_us_.end()) {
      stopped->median_us = ranked->second;
      stopped->samples_us = {ranked->second};
    }
    job_.cache.put(*stopped);
  }
}

Result<TuneResult> TuneRun::go() {
  auto opened = trials_.open();
  if (!opened) return opened.failure();
  resume();
  auto searched = search();
  if (!searched) return searched.failure();
  if (best_us_ == 0) {
    if (end_ == TuneEnd::kStopped) return Failure{ErrorCode::kCancelled, "stopped before a trial"};
    std::string why = "no schedule of `" + job_.key.problem + "` could be measured in the budget";
    if (!last_trouble_.empty()) why += "; the last one: " + last_trouble_;
    return Failure{ErrorCode::kUnsupported, std::move(why)};
  }
  if (end_ != TuneEnd::kStopped) {
    auto ranked = rank_finalists();
    if (!ranked) return ranked.failure();
  }
  if (end_ != TuneEnd::kStopped) finish_stopped();
  TuneResult r = result();
  Record record;
  record.key = job_.key;
  record.schedule = r.schedule;
  record.median_us = r.time_us;
  record.samples_us = best_samples_;
  record.numerics = r.numerics;
  record.seed = job_.options.seed;
  // Serves from now on; the next run carries on all the same.
  if (end_ == TuneEnd::kStopped) record.note = kUnfinished;
  job_.cache.put(record);
  report(true);
  return r;
}

Result<TuneResult> tune(const TuneJob& job) {
  if (!job.options.again) {
    if (auto known = job.cache.best(job.key); known && known->note != kUnfinished) {
      TuneResult r;
      r.problem = job.key.problem;
      r.target = job.key.target;
      r.schedule = known->schedule;
      r.numerics = known->numerics;
      r.time_us = known->median_us;
      r.of_limit = known->median_us > 0 ? job.limit_us / known->median_us : 0;
      return r;
    }
  }
  return TuneRun(job).go();
}

}  // namespace hone::runtime
