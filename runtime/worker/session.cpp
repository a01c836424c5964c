// SPDX-License-Identifier: Apache-2.0
#include "runtime/worker/session.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <future>
#include <utility>

#include "runtime/machine/host.h"
#include "runtime/measure/bound.h"
#include "runtime/measure/samples.h"
#include "runtime/measure/spread.h"
#include "runtime/threads/pool.h"

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

}  // namespace

Result<std::unique_ptr<Session>> Session::open(const std::string& problem,
                                               const std::string& target, int gpu, bool again,
                                               std::function<void()> busy) {
  busy();
  auto parsed = ops::parse_problem(problem);
  if (!parsed) return parsed.failure();
  auto compiled_for = ir::parse_target(target, host_target());
  if (!compiled_for) return compiled_for.failure();
  auto call = GuardedCall::create();
  if (!call) return call.failure();
  std::unique_ptr<Session> s(new Session);
  s->busy_ = std::move(busy);
  s->problem_ = std::make_unique<ops::Problem>(std::move(*parsed));
  s->target_ = *compiled_for;
  s->call_ = std::make_unique<GuardedCall>(std::move(*call));
  if (s->target_.is_cuda()) {
    auto found = s->find_gpu(gpu);
    if (!found) return found.failure();
  } else if (s->target_.threads > 1) {
    s->pool_ = make_pool({.size = s->target_.threads});
  }
  auto ready = s->prepare(again);
  if (!ready) return ready.failure();
  return s;
}

/// Values of the dims known at the call to check at: where it is timed, the ends, and one odd value
/// between.
std::vector<std::vector<int64_t>> Session::points_to_check() const {
  std::vector<std::vector<int64_t>> points = timing_points(problem_->program);
  const std::vector<ir::Dim> dims = dims_to_try(problem_->program);
  if (dims.empty()) return points;
  std::vector<int64_t> low, odd;
  for (const ir::Dim& d : dims) {
    low.push_back(d.lo);
    odd.push_back(std::max(d.lo, (d.lo + d.hi) / 2 | 1) > d.hi
                      ? d.hi
                      : std::max(d.lo, (d.lo + d.hi) / 2 | 1));
  }
  points.push_back(std::move(low));
  points.push_back(std::move(odd));
  return points;
}

/// Data sets and what the definition makes of them. For a GPU they are large, and several are made
/// at a time.
Result<Done> Session::make_fixtures() {
  const auto make = [this](std::vector<int64_t> dims, int set, int number) -> Result<Fixture> {
    auto f = Fixture::create(*problem_, std::move(dims), static_cast<jit::DataSet>(set),
                             number % 2 ? Guard::kBefore : Guard::kAfter,
                             static_cast<uint64_t>(number) + 1);
    if (!f) return f.failure();
    auto referred = f->refer();
    if (!referred) return referred.failure();
    f->protect_inputs(true);
    return f;
  };
  const auto when = gpu_ ? std::launch::async : std::launch::deferred;
  for (const auto& dims : points_to_check()) {
    std::vector<std::future<Result<Fixture>>> made;
    for (int set = 0; set < jit::kDataSetCount; ++set) {
      const auto number = static_cast<int>(fixtures_.size()) + set;
      made.push_back(std::async(when, make, dims, set, number));
    }
    for (auto& f : made) {
      busy_();
      auto fixture = f.get();
      if (!fixture) return fixture.failure();
      fixtures_.push_back(std::move(*fixture));
    }
  }
  return Done{};
}

Result<Done> Session::prepare(bool again) {
  auto fixtures = make_fixtures();
  if (!fixtures) return fixtures.failure();
  for (const auto& dims : gpu_ ? decltype(points_to_check())() : timing_points(problem_->program)) {
    auto f = Fixture::create(*problem_, dims, jit::DataSet::kIntegers, Guard::kFar, 1, kStagger);
    if (!f) return f.failure();
    f->reset();
    timing_.push_back(std::move(*f));
  }
  auto mirrored = mirror_fixtures();
  if (!mirrored) return mirrored.failure();
  if (std::all_of(fixtures_.begin(), fixtures_.end(), [](const Fixture& f) { return f.whole(); })) {
    return Done{};
  }
  auto kernel = ReferenceKernel::create(*problem_, target_, place(), !again);
  if (!kernel) return kernel.failure();
  for (Fixture& f : fixtures_) {
    if (f.whole()) continue;
    auto referred = kernel->refer(f);
    if (!referred) return referred.failure();
    busy_();
  }
  return Done{};
}

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
  if (v.word == "ok" && timing.samples > 0) {
    if (gpu_) {
      time_on_gpu(*candidate, timing, v);
    } else {
      time(*candidate, timing, v);
    }
  }
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
    const double run_us =
        gpu_ ? check_on_gpu(candidate, i, v) : check_on(candidate, fixtures_[i], v);
    if (v.word != "ok") break;
    if (i > 0 || timing.hopeless_us <= 0 || run_us <= timing.hopeless_us) continue;
    v.word = "slow";
    v.note = fmt::format("the first run took {:.0f} us", run_us);
    v.median_us = run_us;
    break;
  }
  return v;
}

/// Checks one data set. `run` makes outputs of the inputs, reports failures, and returns its time.
/// A second run must give the same bits, and they must be right. Returns the time of the first run.
double Session::check_runs(const Candidate& candidate, Fixture& fixture, Verdict& v,
                           const std::function<double()>& run) {
  double first_us = 0;
  // Bits that change from run to run show on any data.
  const int runs = fixture.whole() || fixture.set() == jit::DataSet::kRandom ? 2 : 1;
  for (int i = 0; i < runs; ++i) {
    fixture.reset();
    const double run_us = run();
    busy_();
    if (v.word != "ok") return 0;
    if (i > 0) continue;
    first_us = run_us;
    if (runs > 1) fixture.remember();
  }
  if (runs > 1 && !fixture.as_remembered()) {
    return v.fail("nondeterministic", "two runs on the same data differ");
  }
  const auto found = fixture.compare(candidate.edges);
  if (!found) return v.fail("refused", found.failure().message);
  v.max_err = std::max(v.max_err, found->max_err);
  if (!found->ok()) return v.fail("wrong", found->text());
  return first_us;
}

/// One data set on the CPU: memory and registers left alone besides.
double Session::check_on(const Candidate& candidate, Fixture& fixture, Verdict& v) {
  auto frame = CallFrame::create(candidate, fixture, blocks_);
  if (!frame) return v.fail("refused", frame.failure().message);
  return check_runs(candidate, fixture, v, [&] {
    const std::string broken = frame->run_guarded(*call_, candidate);
    if (!broken.empty()) return v.fail("clobbers", broken);
    if (std::string what = fixture.overwritten(); !what.empty()) return v.fail("overwrites", what);
    if (std::string what = frame->overwritten(); !what.empty()) return v.fail("overwrites", what);
    if (std::string what = frame->misreported(fixture); !what.empty()) return v.fail("wrong", what);
    return frame->run_us();
  });
}

void Session::time(const Candidate& candidate, const Timing& timing, Verdict& v) {
  double logs = 0;
  for (Fixture& fixture : timing_) {
    const auto refuse = [&](const Failure& failure) {
      v.word = "refused";
      v.note = failure.message;
    };
    auto frame = CallFrame::create(candidate, fixture, blocks_);
    if (!frame) return refuse(frame.failure());
    auto shared = frame->share(pool_ ? pool_->size() : 1);
    if (!shared) return refuse(shared.failure());
    frame->bind(candidate);
    const auto run = [&](int64_t n) {
      for (int64_t i = 0; i < n; ++i) frame->run(candidate, pool_.get());
    };
    const Samples samples = sample_calls(
        run, candidate.parallel() ? pool_.get() : nullptr,
        {.samples = timing.samples, .sample_us = timing.sample_us, .give_up_us = timing.give_up_us},
        busy_);
    v.points_us.push_back(median(samples.us));
    logs += std::log(v.points_us.back());
    v.disturbed |= samples.disturbed;
    v.cores = std::max(v.cores, samples.cores);
    v.samples_us.insert(v.samples_us.end(), samples.us.begin(), samples.us.end());
  }
  v.median_us = std::exp(logs / static_cast<double>(timing_.size()));
}

}  // namespace hone::runtime
