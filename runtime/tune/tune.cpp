// SPDX-License-Identifier: Apache-2.0
#include "runtime/tune/tune.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "runtime/tune/gain.h"
#include "runtime/tune/run.h"
#include "schedules/numerics.h"

namespace hone::runtime {
namespace {

/// Chosen: noise of a trial, and time that a hopeless one may take (not measured).
constexpr int kBatch = 8;
constexpr double kImprovement = 0.99;  // a gain below 1% does not keep a search going
constexpr double kGiveUp = 1.3;        // one sample is enough for candidates this much slower
constexpr double kHopeless = 4;        // times the best, and one run is enough
constexpr double kHopelessUs = 5000;   // below that it costs nothing to be sure
constexpr int kMostLost = 5;           // trials in a row whose workers are ended from outside
constexpr int kRetries = 2;            // of a trial that something else disturbed
constexpr auto kReportEvery = std::chrono::milliseconds(200);

/// Trials without improvement after which a search ends.
size_t patience(Effort effort, size_t knobs) {
  return effort == Effort::kQuick ? 24 + 4 * knobs : 120 + 20 * knobs;
}

}  // namespace

TuneRun::TuneRun(const TuneJob& job)
    : job_(job),
      trials_(job.worker, job.key.problem, job.key.target, job.gpu, job.options.stop),
      candidates_(job),
      limits_(job.limits_us, start_),
      default_(candidates_.untuned()) {
  constexpr std::string_view names[] = {"evolve", "random", "descent"};
  strategy_ = schedules::strategy_named(names[static_cast<size_t>(job.options.strategy)]);
  run_ = fmt::format("seed={} strategy={} effort={}", job.options.seed, strategy_->name,
                     job.options.effort == Effort::kQuick ? "quick" : "full");
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

/// Takes up the log of a run of the same name that did not come to its end. Whoever asks for
/// another look at what is finished gets one.
void TuneRun::resume() {
  if (job_.options.again) {
    const auto known = job_.cache.best(job_.key);
    if (known && known->note != kUnfinished) return;
  }
  for (const Trial& t : job_.cache.trials(job_.key)) {
    if (t.run != run_ || !(resume_point(t) || resume_walk(t))) continue;
    // What was put in quarantine since has no time: strategies see it tried, nothing more.
    Outcome o;
    o.verdict = candidates_.allowed(t.schedule) ? t.verdict : "refused";
    o.median_us = t.median_us;
    const double time_us = o.ok() || o.slow() ? o.median_us : kInfinite;
    if (t.note.starts_with(kWalked)) {
      walk_.push_back({t.schedule, time_us});
    } else {
      log_.back().time_us = time_us;
    }
    if (default_us_ == 0 && o.ok()) default_us_ = o.median_us;
    seen_[t.schedule] = time_us;
    if (o.ok() && (best_us_ == 0 || o.median_us < best_us_)) {
      best_us_ = o.median_us;
      best_ = t.schedule;
      improved_at_ = seen_.size();
    }
  }
  resumed_ = tried();
}

/// Adds a trial's point, from its note, to the log, so that the strategy sees the same as then.
/// False where it has none, or the rules have changed since.
bool TuneRun::resume_point(const Trial& trial) {
  const auto& spaces = candidates_.spaces();
  for (size_t s = 0; s < spaces.size(); ++s) {
    const std::string prefix = fmt::format("point={}:", s);
    if (!trial.note.starts_with(prefix)) continue;
    schedules::Candidate c{static_cast<int>(s), {}};
    const char* at = trial.note.data() + prefix.size();
    const auto knobs = schedules::knobs(spaces[s].schedule).size();
    for (size_t k = 0; k < knobs; ++k) {
      char* next = nullptr;
      c.values.push_back(std::strtoll(at, &next, 10));
      at = *next == ',' ? next + 1 : next;
    }
    if (candidates_.text_of(c) != trial.schedule) return false;
    log_.push_back({c, kInfinite});
    return true;
  }
  return false;
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
                    (best_us_ > 0 || tried() >= kBatch);
  if (o.stop.stop_requested()) {
    end_ = TuneEnd::kStopped;
  } else if (late || gave_up_) {
    end_ = TuneEnd::kBudget;
  } else if (o.trials > 0 && static_cast<int64_t>(tried() - resumed_) >= o.trials) {
    end_ = TuneEnd::kTrials;
  } else if (limits_.reached(best_us_)) {
    end_ = TuneEnd::kLimit;
  } else {
    return false;
  }
  return true;
}

/// Enough points were tried in vain: steps may pay more. A GPU's are all there is to try.
bool TuneRun::converged() const {
  if (job_.target.is_cuda() && bounded()) return false;
  const size_t most = patience(job_.options.effort, candidates_.most_knobs());
  return seen_.size() - improved_at_ > most && !candidates_.is_small();
}

/// Points of the spaces first; where they no longer improve, whatever steps are legal.
Result<Done> TuneRun::search() {
  auto done = search_points();
  const bool unmeasured = done && best_us_ == 0 && !gave_up_;
  if (unmeasured && end_ != TuneEnd::kStopped) done = try_plain_loops();
  return done ? walk() : done;
}

/// What the strategies go by: the estimate; infinite for what is tried, or not worth a trial.
double TuneRun::cost(const schedules::Candidate& c) {
  const std::string text = candidates_.text_of(c);
  return seen_.count(text) != 0 ? kInfinite : candidates_.cost(c, text);
}

/// Where nothing could be measured, the loops as they stand: something is better than nothing.
Result<Done> TuneRun::try_plain_loops() {
  const auto& spaces = candidates_.spaces();
  for (size_t s = 0; s < spaces.size(); ++s) {
    if (!spaces[s].schedule.steps.empty() || seen_.count("") != 0) continue;
    return attempt({static_cast<int>(s), {}});
  }
  return Done{};
}

std::vector<schedules::Candidate> TuneRun::propose_points(int count) {
  const schedules::SearchInput input{candidates_.spaces(), job_.options.seed, log_,
                                     [this](const schedules::Candidate& c) { return cost(c); }};
  return strategy_->propose(input, count);
}

Result<Done> TuneRun::search_points() {
  while (!finished() && !converged()) {
    const auto batch = propose_points(kBatch);
    if (batch.empty()) {
      end_ = TuneEnd::kExhausted;
      break;
    }
    // The compiler for GPUs takes longer than most candidates: it works while others are measured.
    for (const schedules::Candidate& c : batch) {
      const std::string text = job_.target.is_cuda() ? candidates_.text_of(c) : std::string();
      if (!text.empty() && seen_.count(text) == 0 && candidates_.allowed(text))
        trials_.expect(text);
    }
    for (const schedules::Candidate& c : batch) {
      if (finished() || converged()) return Done{};
      auto done = attempt(c);
      if (!done) return done.failure();
    }
  }
  return Done{};
}

Result<Done> TuneRun::attempt(const schedules::Candidate& c) {
  const std::string schedule = candidates_.text_of(c);
  if (auto known = seen_.find(schedule); known != seen_.end()) {
    log_.push_back({c, known->second});  // another point, the same schedule
    return Done{};
  }
  auto outcome = try_schedule(schedule);
  if (!outcome) return outcome.failure();
  std::string point = fmt::format("point={}:", c.space);
  for (size_t k = 0; k < c.values.size(); ++k) {
    point += (k ? "," : "") + std::to_string(c.values[k]);
  }
  log_.push_back({c, outcome->ok() || outcome->slow() ? outcome->median_us : kInfinite});
  note(point, schedule, *outcome);
  report(false);
  return Done{};
}

/// Whether the run ends because of an outcome that says nothing. The time is up, or something ends
/// workers faster than they work.
std::optional<Failure> TuneRun::give_up(const Outcome& outcome) {
  lost_ = outcome.lost() ? lost_ + 1 : 0;
  const auto budget = job_.options.budget;
  const bool over = budget.count() > 0 && Clock::now() - start_ >= budget;
  gave_up_ = gave_up_ || outcome.late() || (outcome.lost() && over);
  if (lost_ < kMostLost) return std::nullopt;
  return Failure{ErrorCode::kUnsupported,
                 "the worker " + job_.worker + " does not last: " + outcome.note};
}

/// A trial, repeated where something else disturbed one that promises much.
Result<Outcome> TuneRun::try_schedule(const std::string& schedule) {
  if (!candidates_.allowed(schedule)) {
    const bool bad = candidates_.in_quarantine(schedule);
    Outcome o;
    o.verdict = "refused";
    o.note = bad ? "in quarantine" : "of another numerics class than " + job_.problem.numerics;
    return o;
  }
  limits_.look_sometimes();
  auto tried = trials_.run(schedule, timing(best_us_));
  const auto promising = [&] { return best_us_ == 0 || tried->median_us < best_us_ * kGiveUp; };
  for (int n = 0; n < kRetries && tried && tried->disturbed && promising(); ++n) {
    tried = trials_.run(schedule, timing(best_us_));
  }
  if (!tried) return tried;
  if (const auto failure = give_up(*tried)) return *failure;
  return tried;
}

/// Keeps what became of a trial, whose `origin` says how a later run takes it up.
void TuneRun::note(const std::string& origin, const std::string& schedule, const Outcome& outcome) {
  if (outcome.lost() || outcome.late()) {
    // Nothing that another run should know.
    seen_[schedule] = kInfinite;
    last_trouble_ = outcome.verdict + ", " + outcome.note;
    return;
  }
  job_.cache.log({job_.key, run_, static_cast<int64_t>(tried()) - 1, schedule, outcome.verdict,
                  outcome.median_us, origin + (outcome.note.empty() ? "" : " " + outcome.note)});
  if (job_.options.trial) {
    const std::chrono::duration<double> elapsed = Clock::now() - start_;
    job_.options.trial({static_cast<int64_t>(tried()) - 1, schedule, outcome.verdict,
                        outcome.median_us, elapsed.count(), outcome.note});
  }
  seen_[schedule] = outcome.ok() || outcome.slow() ? outcome.median_us : kInfinite;
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
      best_points_us_ = outcome.points_us;
    }
  }
}

void TuneRun::quarantine(const std::string& schedule, const Outcome& outcome) {
  Record r;
  r.key = job_.key;
  r.schedule = schedule;
  candidates_.quarantine(schedule);
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
  best_points_us_.clear();
  for (Timed& t : timed()) {
    if ((best_us_ > 0 && t.time_us >= best_us_) || !candidates_.allowed(t.schedule)) continue;
    best_us_ = t.time_us;
    best_ = std::move(t.schedule);
  }
  best_samples_ = {best_us_};
}

/// Whatever was tried and has a time, in the order of the trials of each kind.
std::vector<TuneRun::Timed> TuneRun::timed() const {
  std::vector<Timed> all;
  for (const schedules::Tried& t : log_) {
    if (std::isfinite(t.time_us)) all.push_back({candidates_.text_of(t.candidate), t.time_us});
  }
  for (const Timed& t : walk_) {
    if (std::isfinite(t.time_us)) all.push_back(t);
  }
  return all;
}

void TuneRun::report(bool last) {
  if (!job_.options.progress) return;
  const auto now = Clock::now();
  if (!last && now - reported_ < kReportEvery) return;
  reported_ = now;
  TuneProgress p;
  p.trials = static_cast<int64_t>(tried());
  p.failed = failed_;
  p.default_us = default_us_;
  p.best_us = best_us_;
  p.of_limit = limits_.share(best_us_).of_limit;
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
  tell_figures(&r);
  r.trials = static_cast<int64_t>(tried() - resumed_);
  r.measured = measured_;
  r.rejected = refused_;
  r.failed = failed_;
  r.seconds = std::chrono::duration<double>(Clock::now() - start_).count();
  std::vector<double> times;
  for (const schedules::Tried& t : log_) times.push_back(t.time_us);
  for (const Timed& t : walk_) times.push_back(t.time_us);
  r.expected_gain = expected_gain(times, r.of_limit);
  return r;
}

Result<TuneResult> TuneRun::go() {
  if (job_.options.budget.count() > 0) trials_.set_deadline(start_ + job_.options.budget);
  auto opened = trials_.open();
  if (!opened) return opened.failure();
  opening_ = Clock::now() - start_;
  resume();
  limits_.look_sometimes();
  auto searched = search();
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
  const auto budget = job_.options.budget;
  if (budget.count() == 0 || Clock::now() - start_ < budget) limits_.look();
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
      const Spread spread = spread_of(known->samples_us);
      r.time_low_us = std::min(r.time_us, spread.low);
      r.time_high_us = std::max(r.time_us, spread.high);
      return r;
    }
  }
  return TuneRun(job).go();
}

}  // namespace hone::runtime
