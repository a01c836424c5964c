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
constexpr double kGiveUp = 1.3;       // one sample is enough for candidates this much slower
constexpr double kHopeless = 4;       // times the best, and one run is enough
constexpr double kHopelessUs = 5000;  // below that it costs nothing to be sure
constexpr double kFarFetched = 12;    // times the cheapest by estimate: not worth a trial
constexpr size_t kSmallSpace = 64;    // points, which are all tried
constexpr int kMostLost = 5;          // trials in a row whose workers are ended from outside
constexpr int kRetries = 2;           // of a trial that something else disturbed
constexpr auto kReportEvery = std::chrono::milliseconds(200);

/// Trials without improvement after which a search ends.
size_t patience(Effort effort, size_t knobs) {
  return effort == Effort::kQuick ? 24 + 4 * knobs : 120 + 20 * knobs;
}

/// Few enough points, all structures together, to try them all.
bool is_small(const std::vector<schedules::Space>& spaces) {
  size_t all = 0;
  for (const schedules::Space& s : spaces) {
    size_t n = 1;
    for (const schedules::Knob& k : schedules::knobs(s.schedule)) {
      if (n <= kSmallSpace) n *= k.values.size();
    }
    all += n;
  }
  return all <= kSmallSpace;
}

}  // namespace

TuneRun::TuneRun(const TuneJob& job)
    : job_(job),
      trials_(job.worker, job.key.problem, job.key.target, job.gpu, job.options.stop),
      spaces_(schedules::derive_space(job.problem.program, job.target)) {
  constexpr std::string_view names[] = {"evolve", "random", "descent"};
  strategy_ = schedules::strategy_named(names[static_cast<size_t>(job.options.strategy)]);
  run_ = fmt::format("seed={} strategy={} effort={}", job.options.seed, strategy_->name,
                     job.options.effort == Effort::kQuick ? "quick" : "full");
  default_ = schedules::default_schedule(job.problem.program, job.target).text();
  for (const Record& r : job.cache.quarantine(job.key)) quarantined_.insert(r.schedule);
  add_fallback();
  if (!allowed(default_)) default_.clear();
  small_ = is_small(spaces_);
  for (size_t s = 0; s < spaces_.size(); ++s) {
    const schedules::Candidate analytic{static_cast<int>(s), spaces_[s].values};
    const std::string text = text_of(analytic);
    const double cycles = allowed(text) && compiles(text) ? estimate(analytic) : kInfinite;
    if (cheapest_ == 0 || cycles < cheapest_) cheapest_ = cycles;
  }
}

TrialTiming TuneRun::timing(double best_us) const {
  const bool quick = job_.options.effort == Effort::kQuick;
  TrialTiming t;
  t.samples = quick ? 5 : 9;
  t.sample_us = quick ? 300 : 1000;
  t.give_up_us = best_us * kGiveUp;
  if (best_us > 0) t.hopeless_us = std::max(kHopelessUs, kHopeless * best_us * job_.target.threads);
  return t;
}

std::string TuneRun::text_of(const schedules::Candidate& c) const {
  return schedules::fix(spaces_[static_cast<size_t>(c.space)].schedule, c.values).text();
}

/// A pinned numerics class admits only schedules of that class; what once misbehaved stays out.
bool TuneRun::allowed(const std::string& schedule) const {
  if (quarantined_.count(schedule) != 0) return false;
  const std::string& pinned = job_.problem.numerics;
  if (pinned == "any") return true;
  auto parsed = schedules::Schedule::parse(schedule);
  if (!parsed) return false;
  auto program = schedules::apply(job_.problem.program, *parsed);
  return program &&
         schedules::admits(pinned, schedules::numerics_class(job_.problem.program, *program));
}

double TuneRun::estimate(const schedules::Candidate& c) const {
  auto parsed = schedules::Schedule::parse(text_of(c));
  if (!parsed) return kInfinite;
  auto program = schedules::apply(job_.problem.program, *parsed);
  return program ? schedules::estimate(*program, job_.target) : kInfinite;
}

/// What the strategies go by: the estimate, infinite for what is known, or not worth a trial.
double TuneRun::cost(const schedules::Candidate& c) {
  const std::string text = text_of(c);
  if (seen_.count(text) != 0) return kInfinite;
  auto known = costs_.find(c);
  if (known == costs_.end()) {
    double cycles = allowed(text) ? estimate(c) : kInfinite;
    if (cycles > kFarFetched * cheapest_) cycles = kInfinite;
    known = costs_.emplace(c, cycles).first;
  }
  return known->second;
}

/// Takes up the log of a run of the same name that did not come to its end. Whoever asks for
/// another look at what is finished gets one.
void TuneRun::resume() {
  if (job_.options.again) {
    const auto known = job_.cache.best(job_.key);
    if (known && known->note != kUnfinished) return;
  }
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
      // What was put in quarantine since has no time: strategies see it tried, nothing more.
      const Outcome o{allowed(t.schedule) ? t.verdict : "refused", "", t.median_us, {}};
      if (default_us_ == 0 && o.ok()) default_us_ = o.median_us;
      log_.push_back({c, o.ok() || o.slow() ? o.median_us : kInfinite});
      seen_[t.schedule] = log_.size() - 1;
      if (o.ok() && (best_us_ == 0 || o.median_us < best_us_)) {
        best_us_ = o.median_us;
        best_ = t.schedule;
        improved_at_ = seen_.size();
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

/// The time to search: what is left of the budget once the finalists are ranked, in a worker of
/// their own.
TuneRun::Clock::duration TuneRun::search_budget() const {
  const Clock::duration all = job_.options.budget;
  return std::max(all - opening_ - all / 8, all / 2);
}

bool TuneRun::finished() {
  const TuneOptions& o = job_.options;
  // Where opening the problem takes all the time, there is one trial at least.
  const bool late = o.budget.count() > 0 && Clock::now() - start_ >= search_budget() &&
                    (best_us_ > 0 || log_.size() >= kBatch);
  size_t knobs = 0;
  for (const auto& s : spaces_) knobs = std::max(knobs, s.values.size());
  if (o.stop.stop_requested()) {
    end_ = TuneEnd::kStopped;
  } else if (late || gave_up_) {
    end_ = TuneEnd::kBudget;
  } else if (o.trials > 0 && static_cast<int64_t>(log_.size() - resumed_) >= o.trials) {
    end_ = TuneEnd::kBudget;
  } else if (at_limit()) {
    end_ = TuneEnd::kLimit;
  } else if (seen_.size() - improved_at_ > patience(o.effort, knobs) && !small_) {
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
    // The compiler for GPUs takes longer than most candidates: it works while others are measured.
    for (const schedules::Candidate& c : batch) {
      const std::string text = job_.target.is_cuda() ? text_of(c) : std::string();
      if (!text.empty() && seen_.count(text) == 0 && allowed(text)) trials_.expect(text);
    }
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
    auto tried = trials_.run(schedule, timing(best_us_));
    const auto promising = [&] { return best_us_ == 0 || tried->median_us < best_us_ * kGiveUp; };
    for (int n = 0; n < kRetries && tried && tried->disturbed && promising(); ++n) {
      tried = trials_.run(schedule, timing(best_us_));
    }
    if (!tried) return tried.failure();
    outcome = std::move(*tried);
    if (const auto failure = give_up(outcome)) return *failure;
  } else {
    const bool bad = quarantined_.count(schedule) != 0;
    const std::string why =
        bad ? "in quarantine" : "of another numerics class than " + job_.problem.numerics;
    outcome = {"refused", why, 0, {}, false};
  }
  note(c, schedule, outcome);
  report(false);
  return std::monostate{};
}

/// Whether the run is at its end because of an outcome that says nothing: out of time, or because
/// something ends workers faster than they work.
std::optional<Failure> TuneRun::give_up(const Outcome& outcome) {
  lost_ = outcome.lost() ? lost_ + 1 : 0;
  const auto budget = job_.options.budget;
  const bool over = budget.count() > 0 && Clock::now() - start_ >= budget;
  gave_up_ = gave_up_ || outcome.late() || (outcome.lost() && over);
  if (lost_ < kMostLost) return std::nullopt;
  return Failure{ErrorCode::kUnsupported,
                 "the worker " + job_.worker + " does not last: " + outcome.note};
}

void TuneRun::note(const schedules::Candidate& c, const std::string& schedule,
                   const Outcome& outcome) {
  if (outcome.lost() || outcome.late()) {
    // Nothing that another run should know.
    log_.push_back({c, kInfinite});
    seen_[schedule] = log_.size() - 1;
    last_trouble_ = outcome.verdict + ", " + outcome.note;
    return;
  }
  std::string point = fmt::format("point={}:", c.space);
  for (size_t k = 0; k < c.values.size(); ++k)
    point += (k ? "," : "") + std::to_string(c.values[k]);
  job_.cache.log({job_.key, run_, static_cast<int64_t>(log_.size()), schedule, outcome.verdict,
                  outcome.median_us, point + (outcome.note.empty() ? "" : " " + outcome.note)});
  if (job_.options.trial) {
    const std::chrono::duration<double> elapsed = Clock::now() - start_;
    job_.options.trial({static_cast<int64_t>(log_.size()), schedule, outcome.verdict,
                        outcome.median_us, elapsed.count(), outcome.note});
  }
  log_.push_back({c, outcome.ok() || outcome.slow() ? outcome.median_us : kInfinite});
  seen_[schedule] = log_.size() - 1;
  if (!outcome.ok()) {
    last_trouble_ = fmt::format("{}, {} ({} | {} | {})", outcome.verdict, outcome.note,
                                job_.key.problem, job_.key.target, schedule);
  }
  if (outcome.refused()) {
    ++refused_;
  } else if (outcome.slow()) {
    ++measured_;
  } else if (!outcome.ok()) {
    ++failed_;
    quarantine(schedule, outcome);
  } else {
    ++measured_;
    if (default_us_ == 0) {
      default_us_ = outcome.median_us;
      if (default_.empty()) default_ = schedule;
      // Far slower than the untuned schedule is as good as hung.
      trials_.set_timeout_ms(static_cast<int>(std::clamp(default_us_ * 0.2, 5000.0, 600000.0)));
    }
    if (best_us_ == 0 || outcome.median_us < best_us_ * kImprovement) improved_at_ = seen_.size();
    if (best_us_ == 0 || outcome.median_us < best_us_) {
      best_us_ = outcome.median_us;
      best_ = schedule;
      best_checked_ = true;
      best_samples_ = outcome.samples_us;
    }
  }
}

void TuneRun::quarantine(const std::string& schedule, const Outcome& outcome) {
  Record r;
  r.key = job_.key;
  r.schedule = schedule;
  quarantined_.insert(schedule);
  r.verdict = outcome.verdict;
  r.seed = job_.options.seed;
  r.note = outcome.note;
  job_.cache.put(r);
  if (schedule == best_) fall_back();
  if (job_.on_bug) {
    job_.on_bug(fmt::format("{}: {} ({} | {} | {})", outcome.verdict, outcome.note,
                            job_.key.problem, job_.key.target, schedule));
  }
}

/// The next best of the log, where the best went into quarantine.
void TuneRun::fall_back() {
  best_.clear();
  best_us_ = 0;
  best_checked_ = false;
  for (const schedules::Tried& t : log_) {
    if (!std::isfinite(t.time_us) || (best_us_ > 0 && t.time_us >= best_us_)) continue;
    std::string schedule = text_of(t.candidate);
    if (!allowed(schedule)) continue;
    best_us_ = t.time_us;
    best_ = std::move(schedule);
  }
  best_samples_ = {best_us_};
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

Result<TuneResult> TuneRun::go() {
  if (job_.options.budget.count() > 0) trials_.set_deadline(start_ + job_.options.budget);
  auto opened = trials_.open();
  if (!opened) return opened.failure();
  opening_ = Clock::now() - start_;
  resume();
  auto searched = search();
  const bool unmeasured = searched && best_us_ == 0 && !gave_up_;
  if (unmeasured && end_ != TuneEnd::kStopped) searched = try_plain_loops();
  const bool stopped = !searched && searched.failure().code == ErrorCode::kCancelled;
  if (stopped) end_ = TuneEnd::kStopped;
  if (!searched && !stopped) {
    // What was measured is kept; the run that comes next goes on.
    if (best_us_ == 0) return searched.failure();
    gave_up_ = true;
    end_ = TuneEnd::kStopped;
  }
  if (best_us_ == 0) {
    if (end_ == TuneEnd::kStopped) return Failure{ErrorCode::kCancelled, "stopped before a trial"};
    std::string why = "no schedule of `" + job_.key.problem + "` could be measured in the budget";
    if (!last_trouble_.empty()) why += "; the last one: " + last_trouble_;
    // What ran and misbehaved is a defect; what was only refused asks for another problem.
    return Failure{failed_ > 0 ? ErrorCode::kInternal : ErrorCode::kUnsupported, std::move(why)};
  }
  if (end_ != TuneEnd::kStopped && !gave_up_) {
    auto ranked = rank_finalists();
    const bool cancelled = !ranked && ranked.failure().code == ErrorCode::kCancelled;
    if (!ranked && !cancelled && !gave_up_) return ranked.failure();
    if (cancelled) end_ = TuneEnd::kStopped;
  }
  if (best_us_ == 0) {
    return Failure{ErrorCode::kCancelled, "stopped before a second look at a trial"};
  }
  if (end_ == TuneEnd::kStopped || gave_up_) keep_stopped();
  TuneResult r = result();
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
