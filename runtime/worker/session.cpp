// SPDX-License-Identifier: Apache-2.0
#include "runtime/worker/session.h"

#include <time.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>

#include "jit/interp/scalar.h"
#include "runtime/machine/host.h"
#include "runtime/threads/pool.h"
#include "schedules/space/space.h"

namespace hone::runtime {
namespace {

using Clock = std::chrono::steady_clock;

constexpr size_t kStagger = 192;  // keeps operands of the timing runs off one another's cache sets

double microseconds(Clock::duration d) {
  return std::chrono::duration<double, std::micro>(d).count();
}

double median(std::vector<double> v) {
  const auto middle = v.begin() + static_cast<std::ptrdiff_t>(v.size() / 2);
  std::nth_element(v.begin(), middle, v.end());
  return *middle;
}

bool is_dense(const jit::TensorView& v) {
  int64_t stride = 1;
  for (size_t d = v.shape.size(); d-- > 0;) {
    if (v.strides[d] != stride && v.shape[d] > 1) return false;
    stride *= v.shape[d];
  }
  return true;
}

/// The elements of each view, in row-major order.
std::vector<std::vector<uint8_t>> bytes_of(const std::vector<jit::TensorView>& views) {
  std::vector<std::vector<uint8_t>> out;
  for (const jit::TensorView& v : views) {
    std::vector<uint8_t> bytes;
    std::vector<int64_t> at(v.shape.size(), 0);
    const auto size = static_cast<size_t>(size_of(v.type));
    const int64_t count = v.elements();
    if (is_dense(v)) {
      const auto* first = static_cast<const uint8_t*>(v.data);
      out.emplace_back(first, first + static_cast<size_t>(count) * size);
      continue;
    }
    bytes.reserve(static_cast<size_t>(count) * size);
    for (int64_t e = 0; e < count; ++e) {
      int64_t offset = 0;
      for (size_t d = 0; d < at.size(); ++d) offset += at[d] * v.strides[d];
      const auto* p = static_cast<const uint8_t*>(v.data) + static_cast<size_t>(offset) * size;
      bytes.insert(bytes.end(), p, p + size);
      for (size_t d = at.size(); d-- > 0 && ++at[d] == v.shape[d];) at[d] = 0;
    }
    out.push_back(std::move(bytes));
  }
  return out;
}

}  // namespace

Result<std::unique_ptr<Session>> Session::open(const std::string& problem,
                                               const std::string& target) {
  auto parsed = ops::parse_problem(problem);
  if (!parsed) return parsed.failure();
  auto compiled_for = ir::parse_target(target, host_target());
  if (!compiled_for) return compiled_for.failure();
  auto call = GuardedCall::create();
  if (!call) return call.failure();
  std::unique_ptr<Session> s(new Session);
  s->problem_ = std::make_unique<ops::Problem>(std::move(*parsed));
  s->target_ = *compiled_for;
  s->call_ = std::make_unique<GuardedCall>(std::move(*call));
  if (s->target_.threads > 1) s->pool_ = make_pool({.size = s->target_.threads});
  auto ready = s->prepare();
  if (!ready) return ready.failure();
  return s;
}

/// Values of the dims known at the call. To time: where the problem says it should be good, else
/// the largest. To check: those, the ends, and one odd value between.
std::vector<std::vector<int64_t>> Session::dim_points(bool for_timing) const {
  std::vector<std::vector<int64_t>> points;
  const auto& dims = problem_->program.dims;
  size_t most = 1;
  for (const ir::Dim& d : dims) most = std::max(most, d.at.size());
  for (size_t i = 0; i < most; ++i) {
    std::vector<int64_t> p;
    for (const ir::Dim& d : dims)
      p.push_back(d.at.empty() ? d.hi : d.at[std::min(i, d.at.size() - 1)]);
    points.push_back(std::move(p));
  }
  if (for_timing || dims.empty()) return points;
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

Result<std::monostate> Session::prepare() {
  int number = 0;
  for (const auto& dims : dim_points(false)) {
    for (int set = 0; set < jit::kDataSetCount; ++set, ++number) {
      auto f = Fixture::create(*problem_, dims, static_cast<jit::DataSet>(set),
                               number % 2 ? Guard::kBefore : Guard::kAfter,
                               static_cast<uint64_t>(number) + 1);
      if (!f) return f.failure();
      auto referred = f->refer();
      if (!referred) return referred.failure();
      fixtures_.push_back(std::move(*f));
    }
  }
  for (const auto& dims : dim_points(true)) {
    auto f = Fixture::create(*problem_, dims, jit::DataSet::kIntegers, Guard::kBefore, 1, kStagger);
    if (!f) return f.failure();
    f->reset();
    timing_.push_back(std::move(*f));
  }
  baseline_.resize(fixtures_.size());
  if (std::all_of(fixtures_.begin(), fixtures_.end(), [](const Fixture& f) { return f.whole(); })) {
    return std::monostate{};
  }
  const std::string schedule = schedules::default_schedule(problem_->program, target_).text();
  auto candidate = build_candidate(*problem_, target_, schedule, memory_);
  if (!candidate) candidate = build_candidate(*problem_, target_, "", memory_);
  if (!candidate) return Failure{ErrorCode::kUnsupported, candidate.failure().reason};
  const Verdict verdict = check(*candidate);
  if (verdict.word != "ok") {
    return Failure{ErrorCode::kInternal,
                   "the default schedule disagrees with the reference: " + verdict.note};
  }
  for (size_t i = 0; i < fixtures_.size(); ++i) {
    if (fixtures_[i].whole() || fixtures_[i].set() != jit::DataSet::kRandom) continue;
    baseline_[i] = bytes_of(fixtures_[i].outputs());
  }
  memory_.release(candidate->span);
  return std::monostate{};
}

Verdict Session::try_schedule(const std::string& schedule, const Timing& timing) {
  auto candidate = build_candidate(*problem_, target_, schedule, memory_);
  if (!candidate) {
    Verdict v;
    v.word = "refused";
    v.note = candidate.failure().reason;
    return v;
  }
  Verdict v = check(*candidate);
  v.jit_us = candidate->jit_us;
  v.report = candidate->code.report;
  if (v.word == "ok" && timing.samples > 0) time(*candidate, timing, v);
  memory_.release(candidate->span);
  return v;
}

Verdict Session::try_code(const std::vector<uint8_t>& bytes) {
  auto candidate = build_candidate(*problem_, target_, "", memory_);
  Verdict v;
  v.word = "refused";
  if (!candidate) {
    v.note = candidate.failure().reason;
    return v;
  }
  auto span = memory_.add(bytes);
  if (!span) {
    v.note = span.failure().message;
    return v;
  }
  candidate->functions.assign(
      1, reinterpret_cast<LaunchFunction>(reinterpret_cast<uintptr_t>(span->data)));
  candidate->code.launches.resize(1);
  candidate->code.launches[0].extent = ir::make_int(1);
  return check(*candidate);
}

Verdict Session::check(const Candidate& candidate) {
  Verdict v;
  for (size_t i = 0; i < fixtures_.size(); ++i) {
    if (!check_on(candidate, i, v)) break;
  }
  return v;
}

/// One data set: memory and registers left alone, the same bits twice, and the right ones.
bool Session::check_on(const Candidate& candidate, size_t index, Verdict& v) {
  Fixture& fixture = fixtures_[index];
  const auto fail = [&](std::string word, std::string note) {
    v.word = std::move(word);
    v.note = std::move(note);
    return false;
  };
  auto frame = CallFrame::create(candidate, fixture);
  if (!frame) return fail("refused", frame.failure().message);
  std::vector<std::vector<uint8_t>> first;
  // Bits that change from run to run show on any data.
  const int runs = fixture.whole() || fixture.set() == jit::DataSet::kRandom ? 2 : 1;
  for (int run = 0; run < runs; ++run) {
    fixture.reset();
    fixture.protect_inputs(true);
    const std::string broken = frame->run_guarded(*call_, candidate);
    fixture.protect_inputs(false);
    if (!broken.empty()) return fail("clobbers", broken);
    if (std::string what = fixture.overwritten(); !what.empty()) return fail("overwrites", what);
    if (std::string what = frame->overwritten(); !what.empty()) return fail("overwrites", what);
    if (runs > 1 && run == 0) first = bytes_of(fixture.outputs());
  }
  if (runs > 1 && first != bytes_of(fixture.outputs())) {
    return fail("nondeterministic", "two runs on the same data differ");
  }
  const jit::Comparison c = jit::compare(fixture.reference(), fixture.outputs());
  v.max_err = std::max(v.max_err, c.max_err);
  if (!c.ok()) return fail("wrong", c.text());
  compare_whole(index, v);
  return v.word == "ok";
}

/// Where the reference is a sample, every element of the random data set against the checked
/// default schedule's: within twice the largest bound of the sample, NaN where it is NaN.
void Session::compare_whole(size_t index, Verdict& v) {
  if (baseline_[index].empty()) return;
  const Fixture& fixture = fixtures_[index];
  const auto got = bytes_of(fixture.outputs());
  for (size_t t = 0; t < got.size(); ++t) {
    const jit::ReferenceTensor& ref = fixture.reference().outputs[t];
    double bound = 0;
    for (double b : ref.bound) {
      if (std::isfinite(b)) bound = std::max(bound, 2 * b);
    }
    const size_t count = got[t].size() / static_cast<size_t>(size_of(ref.type));
    for (size_t e = 0; e < count; ++e) {
      const auto at = static_cast<int64_t>(e);
      bool same = true;
      if (is_float(ref.type)) {
        const double a = jit::read_float(ref.type, got[t].data(), at);
        const double b = jit::read_float(ref.type, baseline_[index][t].data(), at);
        same = a == b || (std::isnan(a) && std::isnan(b)) || std::fabs(a - b) <= bound;
      } else {
        same = jit::read_int(ref.type, got[t].data(), at) ==
               jit::read_int(ref.type, baseline_[index][t].data(), at);
      }
      if (same) continue;
      v.word = "wrong";
      v.note =
          ref.name + " differs from the default schedule's result at element " + std::to_string(e);
      return;
    }
  }
}

namespace {

/// Wall and processor time of one stretch of work on this thread.
struct Stretch {
  double wall_us = 0;
  double cpu_us = 0;
  /// Another process had the core meanwhile: the wall time says nothing of the work.
  bool disturbed() const {
    constexpr double kShare = 0.97;
    return cpu_us < kShare * wall_us;
  }
};

double thread_cpu_us() {
  timespec t{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) * 1e6 + static_cast<double>(t.tv_nsec) * 1e-3;
}

template <class F>
Stretch stretch_of(const F& work) {
  const double cpu = thread_cpu_us();
  const auto start = Clock::now();
  work();
  const double wall = microseconds(Clock::now() - start);
  return {wall, thread_cpu_us() - cpu};
}

}  // namespace

/// Samples of one fixture, long enough each. Where another process took the core, the processor
/// time stands in for the wall time of one thread; several threads are measured again, a bounded
/// number of times.
std::vector<double> Session::sample(const Candidate& candidate, CallFrame& frame,
                                    const Timing& timing) {
  const auto once = [&] { frame.run(candidate, pool_.get()); };
  once();  // warms caches, page tables and predictors
  double estimate = stretch_of(once).cpu_us;
  std::vector<double> samples;
  for (int left = 3 * timing.samples; left > 0 && std::ssize(samples) < timing.samples; --left) {
    const auto rounds =
        static_cast<int64_t>(std::ceil(timing.sample_us / std::max(estimate, 0.01)));
    const Stretch s = stretch_of([&] {
      for (int64_t r = 0; r < rounds; ++r) once();
    });
    const bool alone = pool_ == nullptr;
    const double each =
        (alone && s.disturbed() ? s.cpu_us : s.wall_us) / static_cast<double>(rounds);
    const bool too_short = s.wall_us < timing.sample_us / 2;
    estimate = each;
    if (too_short || (!alone && s.disturbed() && left > timing.samples)) continue;
    samples.push_back(each);
    if (timing.give_up_us > 0 && each > timing.give_up_us) break;
  }
  if (samples.empty()) samples.push_back(estimate);
  return samples;
}

void Session::time(const Candidate& candidate, const Timing& timing, Verdict& v) {
  double logs = 0;
  for (Fixture& fixture : timing_) {
    auto frame = CallFrame::create(candidate, fixture);
    if (!frame) {
      v.word = "refused";
      v.note = frame.failure().message;
      return;
    }
    frame->bind(candidate);
    const std::vector<double> samples = sample(candidate, *frame, timing);
    logs += std::log(median(samples));
    v.samples_us.insert(v.samples_us.end(), samples.begin(), samples.end());
  }
  v.median_us = std::exp(logs / static_cast<double>(timing_.size()));
}

}  // namespace hone::runtime
