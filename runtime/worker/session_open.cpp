// SPDX-License-Identifier: Apache-2.0
// What a session has before the first trial: where candidates run, and data to check and time on.
#include <fmt/format.h>

#include <algorithm>
#include <future>
#include <utility>

#include "runtime/device/gpu_target.h"
#include "runtime/fine.h"
#include "runtime/machine/host.h"
#include "runtime/measure/bound.h"
#include "runtime/threads/pool.h"
#include "runtime/worker/session.h"

namespace hone::runtime {
namespace {

/// Device `ordinal`, where it runs code for the target.
Result<std::shared_ptr<Gpu>> gpu_of(const ir::Target& target, int ordinal) {
  auto driver = jit::CudaDriver::open();
  if (!driver) return driver.failure();
  auto all = list_gpus(**driver);
  if (!all) return all.failure();
  for (const GpuFacts& facts : *all) {
    if (facts.ordinal == ordinal && runs(facts, target)) return Gpu::open(ordinal, 0);
  }
  return Failure{ErrorCode::kUnsupported,
                 fmt::format("GPU {} of this machine is not `{}`", ordinal, ir::print(target))};
}

/// A GPU that does not answer for so long while a problem is opened is not waited for.
/// Chosen: patience with a loaded GPU (not measured).
constexpr int64_t kOpeningMs = 20000;

}  // namespace

Result<std::unique_ptr<Session>> Session::open(const std::string& problem,
                                               const std::string& target, int gpu, bool again,
                                               std::function<void()> busy) {
  busy();
  auto parsed = ops::parse_problem(problem);
  if (!parsed) return parsed.failure();
  auto compiled_for = ir::parse_target(target, host_target());
  if (!compiled_for) return compiled_for.failure();
  std::unique_ptr<Session> s(new Session);
  s->busy_ = std::move(busy);
  s->problem_ = std::make_unique<ops::Problem>(std::move(*parsed));
  s->target_ = *compiled_for;
  auto found = s->find_sites(gpu);
  if (!found) return found.failure();
  auto ready = s->prepare(again);
  if (!ready) return ready.failure();
  return s;
}

/// On the host candidates are checked under guard, and timed on as many threads as they are for.
Result<Done> Session::find_sites(int gpu) {
  if (target_.is_cuda()) {
    auto found = gpu_of(target_, gpu);
    if (!found) return found.failure();
    gpu_ = *std::move(found);
    gpu_->limit_waits(kOpeningMs);
    compiler_.emplace(BinaryStore{}, gpu_->driver().version());
    checks_at_ = times_at_ = device_site(gpu_);
    return Done{};
  }
  auto guarded = guarded_site();
  if (!guarded) return guarded.failure();
  if (target_.threads > 1) pool_ = make_pool({.size = target_.threads});
  checks_at_ = *std::move(guarded);
  times_at_ = host_site(pool_.get());
  return Done{};
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

/// On the host data to time on lies as a caller's does. GPUs are timed on random data that they are
/// checked on: on small integers tensor cores draw less power than in use.
Result<Done> Session::make_timing_fixtures() {
  if (gpu_) return Done{};
  for (const auto& dims : timing_points(problem_->program)) {
    auto f = Fixture::create(*problem_, dims, jit::DataSet::kTimed, Guard::kFar, 1, kStagger);
    if (!f) return f.failure();
    f->reset();
    timing_.push_back(std::move(*f));
  }
  return Done{};
}

Result<Done> Session::place_operands() {
  if (gpu_) compare_.emplace(target_, place(), checks_at_);
  for (Fixture& f : fixtures_) {
    f.reset();
    auto results = Results::create(*checks_at_, f, compare_ ? &*compare_ : nullptr);
    if (!results) return results.failure();
    checked_.push_back(*std::move(results));
  }
  // The points to time come first among those to check.
  constexpr auto kRandom = static_cast<size_t>(jit::DataSet::kRandom);
  for (size_t i = 0; i < timing_points(problem_->program).size(); ++i) {
    const Fixture& f = gpu_ ? fixtures_[i * jit::kDataSetCount + kRandom] : timing_[i];
    auto timed = Operands::create(*times_at_, f, Operands::copies_past_cache(*times_at_, f));
    if (!timed) return timed.failure();
    timed_.push_back(*std::move(timed));
    if (!gpu_) fresh_.emplace_back(timing_[i], host_target().l3);
  }
  // Last, since all can be done without.
  for (Results& results : checked_) {
    if (auto f = results.take_copies(); !f) return f;
  }
  return Done{};
}

/// Moves what is timed on the host, since conflicts in a cache depend on where operands lie.
void Session::place_timed(int64_t placement) {
  if (placement == placement_) return;
  placement_ = placement;
  for (size_t i = 0; i < timing_.size(); ++i) {
    // For want of memory some stay where they are, which changes no result.
    (void)timing_[i].place(stagger_of(placement));
    fresh_[i] = FreshData(timing_[i], host_target().l3);
  }
}

Result<Done> Session::prepare(bool again) {
  if (auto f = make_fixtures(); !f) return f;
  if (auto f = make_timing_fixtures(); !f) return f;
  // First, since it takes a device's memory for a while.
  if (auto f = refer_large(again); !f) return f;
  return place_operands();
}

/// What is right of data sets that are too large for the definition.
Result<Done> Session::refer_large(bool again) {
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

}  // namespace hone::runtime
