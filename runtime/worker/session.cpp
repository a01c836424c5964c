// SPDX-License-Identifier: Apache-2.0
#include "runtime/worker/session.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "runtime/device/gpu.h"
#include "runtime/measure/spread.h"

namespace hone::runtime {
namespace {

/// Machine code with one launch, at its begin.
class GivenCode final : public jit::Executable {
 public:
  explicit GivenCode(const jit::ExecutableSpan& span)
      : function_(reinterpret_cast<Launch::Function>(reinterpret_cast<uintptr_t>(span.data))) {}
  Result<Done> run(size_t, const int64_t* slots, const jit::Part& part) const override {
    function_(slots, part.begin, part.end, part.scratch);
    return Done{};
  }
  Launch::Function function(size_t) const override { return function_; }

 private:
  Launch::Function function_;
};

/// Fails a verdict by what a site said.
double blame(const Site& site, const Failure& failure, Verdict& v) {
  return v.fail(std::string(site.verdict_on(failure)),
                failure.message.substr(0, failure.message.find('\n')));
}

}  // namespace

void Session::build(const std::string& schedule) {
  built_.emplace(build_candidate(*problem_, target_, schedule, place(), options_));
  built_schedule_ = schedule;
}

Verdict Session::try_schedule(const std::string& schedule, const Timing& timing) {
  if (gpu_ && timing.wait_ms > 0) gpu_->limit_waits(static_cast<int64_t>(timing.wait_ms));
  if (!built_ || built_schedule_ != schedule) build(schedule);
  auto candidate = *std::exchange(built_, std::nullopt);
  if (!candidate) {
    Verdict v;
    v.word = candidate.failure().kind == ir::Reject::kBug ? "bug" : "refused";
    v.note = candidate.failure().text();
    return v;
  }
  Verdict v;
  if (passed_.count(schedule) == 0) v = check(*candidate, timing);
  v.jit_us = candidate->jit_us;
  v.report = candidate->executable->report();
  if (v.word == "ok") passed_.insert(schedule);
  if (v.word == "ok" && timing.samples > 0) v.median_us = time(*candidate, timing, v);
  return v;
}

Verdict Session::try_code(const std::vector<uint8_t>& bytes) {
  auto candidate = build_candidate(*problem_, target_, "", place());
  Verdict v;
  v.word = "refused";
  if (!candidate) {
    v.note = candidate.failure().text();
    return v;
  }
  auto span = memory_.add(bytes);
  if (!span) {
    v.note = span.failure().message;
    return v;
  }
  ir::Nest nest = candidate->nest();
  nest.launches.resize(1);
  nest.launches[0].extent = ir::make_int(1);
  candidate->code = std::make_shared<jit::Code>(std::move(nest));
  candidate->executable = std::make_shared<GivenCode>(*span);
  return check(*candidate, {});
}

Verdict Session::check(const Candidate& candidate, const Timing& timing) {
  Verdict v;
  for (size_t i = 0; i < fixtures_.size(); ++i) {
    const double run_us = check_runs(candidate, fixtures_[i], checked_[i], v);
    if (v.word != "ok") break;
    if (i > 0 || timing.hopeless_us <= 0 || run_us <= timing.hopeless_us) continue;
    v.word = "slow";
    v.note = fmt::format("the first run took {:.0f} us", run_us);
    v.median_us = run_us;
    break;
  }
  return v;
}

/// One call from outputs that are reset, and memory left alone besides. Returns its time.
double Session::run_checked(CallFrame& frame, Results& results, Verdict& v) {
  const auto blamed = [&](const Failure& f) { return blame(*checks_at_, f, v); };
  if (auto f = results.reset(); !f) return blamed(f.failure());
  const auto run_us = frame.call();
  if (!run_us) return blamed(run_us.failure());
  if (auto f = results.collect(); !f) return blamed(f.failure());
  for (const auto& what : {results.overwritten(), frame.overwritten()}) {
    if (!what) return blamed(what.failure());
    if (!what->empty()) return v.fail("overwrites", *what);
  }
  if (std::string what = frame.misreported(); !what.empty()) return v.fail("wrong", what);
  return *run_us;
}

/// Checks one data set. A second run must give the same bits, and they must be right. Returns the
/// time of the first run.
double Session::check_runs(const Candidate& candidate, const Fixture& fixture, Results& results,
                           Verdict& v) {
  const auto blamed = [&](const Failure& f) { return blame(*checks_at_, f, v); };
  auto frame = CallFrame::create(candidate, results.operands());
  if (!frame) return blamed(frame.failure());
  double first_us = 0;
  // Bits that change from run to run show on any data.
  const int runs = fixture.whole() || fixture.set() == jit::DataSet::kRandom ? 2 : 1;
  for (int i = 0; i < runs; ++i) {
    const double run_us = run_checked(*frame, results, v);
    busy_();
    if (v.word != "ok") return 0;
    if (i == 0) first_us = run_us;
    if (i + 1 == runs) break;
    if (auto f = results.remember(); !f) return blamed(f.failure());
  }
  if (runs > 1) {
    const auto same = results.as_remembered();
    if (!same) return blamed(same.failure());
    if (!*same) return v.fail("nondeterministic", "two runs on the same data differ");
  }
  const auto found = results.compare(candidate.edges);
  if (!found && gpu_) return blamed(found.failure());
  if (!found) return v.fail("refused", found.failure().message);
  v.max_err = std::max(v.max_err, found->max_err);
  if (!found->ok()) return v.fail("wrong", found->text());
  return first_us;
}

/// Samples at one of the points. The last data that were drawn for it are checked as well. Nothing
/// where the verdict says why.
std::optional<Samples> Session::time_at(size_t point, CallFrame& frame, bool parallel,
                                        SampleOptions options, Verdict& v) {
  FreshData* const fresh = fresh_.empty() ? nullptr : &fresh_[point];
  std::vector<MemorySpan> packed;
  if (fresh && fresh->needed()) {
    packed = frame.packed_of(fresh->cold());
    options.before_call = [&] { fresh->make(packed); };
  }
  const auto run = [&](int64_t n) { return frame.run(n); };
  auto samples = times_at_->sample(run, parallel, options, busy_);
  if (!samples) {
    blame(*times_at_, samples.failure(), v);
    return std::nullopt;
  }
  if (fresh && fresh->draws()) {
    timing_[point].reset();
    if (auto f = frame.run(1); !f) blame(*times_at_, f.failure(), v);
    const auto found = timing_[point].compare_few();
    if (!found) v.fail("refused", found.failure().message);
    if (found && !found->ok()) v.fail("wrong", found->text());
    if (v.word != "ok") return std::nullopt;
  }
  return *std::move(samples);
}

/// The geometric mean over the points.
double Session::time(const Candidate& candidate, const Timing& timing, Verdict& v) {
  place_timed(timing.placement);
  const SampleOptions options{
      .samples = timing.samples, .sample_us = timing.sample_us, .give_up_us = timing.give_up_us};
  double logs = 0;
  for (size_t point = 0; point < timed_.size(); ++point) {
    auto frame = CallFrame::create(candidate, timed_[point]);
    if (!frame) return blame(*times_at_, frame.failure(), v);
    if (auto f = frame->bind(); !f) return blame(*times_at_, f.failure(), v);
    const auto samples = time_at(point, *frame, candidate.parallel(), options, v);
    if (!samples) return 0;
    v.points_us.push_back(median(samples->us));
    logs += std::log(v.points_us.back());
    v.disturbed |= samples->disturbed;
    v.cores = std::max(v.cores, samples->cores);
    v.samples_us.insert(v.samples_us.end(), samples->us.begin(), samples->us.end());
  }
  return std::exp(logs / static_cast<double>(timed_.size()));
}

}  // namespace hone::runtime
