// SPDX-License-Identifier: Apache-2.0
#include "bench/speed/contest.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "runtime/fine.h"
#include "schedules/space/space.h"

namespace hone::bench {
namespace {

using runtime::Fixture;
using runtime::Guard;

constexpr int64_t kMostSets = 4096;

int64_t bytes_of(const Fixture& fixture) {
  int64_t bytes = 0;
  for (const jit::TensorView& v : fixture.params()) bytes += jit::span_of(v) * size_of(v.type);
  return std::max<int64_t>(bytes, 1);
}

/// Sets of operands of `each` bytes.
int64_t sets_of(const RowOperands& operands, int64_t each, const ir::Target& target) {
  if (!operands.past_caches && operands.bytes <= 0) return 1;
  const int64_t all = operands.past_caches ? 2 * std::max(target.l3, target.l2) : operands.bytes;
  // Sets that just fill a cache stay in it: one more does not.
  const int64_t more = operands.past_caches ? 1 : 0;
  return std::clamp<int64_t>((all + each - 1) / each + more, 1, kMostSets);
}

/// Where the next tensor of a set of small ones begins: on a cache line.
size_t lines_of(const jit::TensorView& v) {
  constexpr size_t kLine = 64;
  const auto bytes = static_cast<size_t>(jit::span_of(v) * size_of(v.type));
  return (bytes + kLine - 1) / kLine * kLine;
}

/// The largest distance of floats, and the largest of them, in `n` elements.
double distance(const float* got, const float* want, int64_t n) {
  double largest = 0, most = 0;
  for (int64_t i = 0; i < n; ++i) {
    const bool same = got[i] == want[i] || (std::isnan(got[i]) && std::isnan(want[i]));
    if (std::isfinite(want[i])) largest = std::max<double>(largest, std::abs(want[i]));
    if (same) continue;
    const double apart = std::abs(static_cast<double>(got[i]) - want[i]);
    most = std::isfinite(apart) ? std::max(most, apart) : INFINITY;
  }
  return most > 0 ? most / std::max(largest, 1e-30) : 0;
}

}  // namespace

Result<std::unique_ptr<SpeedProblem>> SpeedProblem::create(runtime::EngineState& engine,
                                                           ops::Problem problem,
                                                           const RowOperands& operands,
                                                           const TunedSchedule* tuned) {
  std::unique_ptr<SpeedProblem> p(new SpeedProblem(std::move(problem)));
  const ir::Program& program = p->problem_.program;
  p->dims_ = runtime::timing_dims(program);
  p->work_ = runtime::work_of(program, p->dims_, engine.target);
  if (auto f = p->make_sets(operands, engine.target); !f) return f.failure();
  p->work_.footprint *= static_cast<double>(p->sets_.size());
  const std::string plain = schedules::default_schedule(program, engine.target).text();
  auto untuned = engine.compile_given(p->problem_, plain);
  if (!untuned) return untuned.failure();
  if (auto f = p->add_kernel(*untuned, "default", ""); !f) return f.failure();
  if (!tuned) return p;
  auto best = engine.compile_given(p->problem_, tuned->text);
  if (!best) return best.failure();
  if (auto f = p->add_kernel(*best, "tuned", tuned->from); !f) return f.failure();
  return p;
}

/// Ranges that offsets say are as long as one another, and together all of what they index: the
/// bound takes it so, and bags of random lengths would mostly be empty or huge.
void even_offsets(const Fixture& fixture, int64_t all) {
  for (size_t p = 0; p < fixture.params().size(); ++p) {
    const jit::TensorView& v = fixture.params()[p];
    if (fixture.buffer(p).name != "offs" || v.type != DType::kI64 || v.shape.size() != 1) continue;
    auto* const offsets = static_cast<int64_t*>(v.data);
    for (int64_t i = 0; i < v.shape[0]; ++i) offsets[i] = all * i / (v.shape[0] - 1);
  }
}

/// The extent of the ids that bags are made of; 0 where there are none.
int64_t ids_of(const Fixture& fixture) {
  for (size_t p = 0; p < fixture.params().size(); ++p) {
    if (fixture.buffer(p).name == "ids") return fixture.params()[p].shape[0];
  }
  return 0;
}

Result<Done> SpeedProblem::add_fixture() {
  auto fixture = Fixture::create(problem_, dims_, jit::DataSet::kTimed, Guard::kFar,
                                 fixtures_.size() + 1, runtime::kStagger);
  if (!fixture) return fixture.failure();
  even_offsets(*fixture, ids_of(*fixture));
  fixture->reset();
  fixtures_.push_back(*std::move(fixture));
  return Done{};
}

/// Copies of the first fixture's tensors side by side: apart by pages they would all fall into a
/// few sets of a cache, and miss the page tables' cache besides.
void SpeedProblem::pack_sets(int64_t count) {
  constexpr size_t kPage = 4096;
  size_t each = 0;
  for (const jit::TensorView& v : fixtures_[0].params()) each += lines_of(v);
  const auto copies = static_cast<size_t>(count - 1);
  packed_ = std::make_unique<std::byte[]>(each * copies + kPage);
  auto at = (reinterpret_cast<uintptr_t>(packed_.get()) + kPage - 1) / kPage * kPage;
  for (size_t i = 0; i < copies; ++i) {
    std::vector<jit::TensorView> params = fixtures_[0].params();
    for (jit::TensorView& v : params) {
      auto* const to = reinterpret_cast<std::byte*>(at);
      std::memcpy(to, v.data, static_cast<size_t>(jit::span_of(v) * size_of(v.type)));
      v.data = to;
      at += lines_of(v);
    }
    sets_.emplace_back(fixtures_[0], std::move(params));
  }
}

Result<Done> SpeedProblem::make_sets(const RowOperands& operands, const ir::Target& target) {
  if (auto f = add_fixture(); !f) return f;
  const int64_t count = sets_of(operands, bytes_of(fixtures_[0]), target);
  // What one thread calls raw may lie anywhere; constants are bound set by set.
  bool packs = operands.bytes > 0 && target.threads == 1;
  for (const ir::Buffer& b : problem_.program.buffers) packs = packs && !b.constant;
  while (!packs && static_cast<int64_t>(fixtures_.size()) < count) {
    if (auto f = add_fixture(); !f) return f;
  }
  for (const Fixture& fixture : fixtures_) sets_.emplace_back(fixture);
  if (packs) pack_sets(count);
  return Done{};
}

Result<Done> SpeedProblem::add_kernel(std::shared_ptr<const runtime::KernelState> kernel,
                                      const std::string& name, const std::string& from) {
  auto own = std::make_unique<OwnKernel>();
  own->name = name;
  own->from = from;
  own->kernel = std::move(kernel);
  for (const Fixture& fixture : fixtures_) {
    auto call = runtime::KernelCall::create(own->kernel, fixture);
    if (!call) return call.failure();
    own->calls.push_back(*std::move(call));
  }
  kernels_.push_back(std::move(own));
  return Done{};
}

Result<Done> SpeedProblem::check_on(Fixture& fixture) {
  if (auto f = fixture.refer(); !f) return f.failure();
  bool kept = false;
  for (const auto& k : kernels_) {
    auto call = runtime::KernelCall::create(k->kernel, fixture);
    if (!call) return call.failure();
    fixture.reset();
    if (auto f = (*call)->call(); !f) return f.failure();
    const auto found = fixture.compare({});
    if (!found) return found.failure();
    k->error = std::max(k->error, found->max_err);
    if (!found->ok()) {
      k->wrong = found->text();
    } else if (!kept) {
      fixture.keep();
      kept = true;
    }
  }
  return Done{};
}

Result<Done> SpeedProblem::check() {
  {
    auto other = Fixture::create(problem_, dims_, jit::DataSet::kRandom, Guard::kAfter, 2);
    if (!other) return other.failure();
    if (auto f = check_on(*other); !f) return f.failure();
  }
  return check_on(fixtures_[0]);
}

double SpeedProblem::apart() const {
  double most = 0;
  const std::vector<jit::TensorView> outputs = fixtures_[0].outputs();
  for (size_t o = 0; o < outputs.size(); ++o) {
    const void* want = fixtures_[0].kept(o);
    if (!want) continue;
    const jit::TensorView& got = outputs[o];
    const int64_t n = jit::span_of(got);
    if (got.type == DType::kF32) {
      most = std::max(
          most, distance(static_cast<const float*>(got.data), static_cast<const float*>(want), n));
    } else if (std::memcmp(got.data, want, static_cast<size_t>(n * size_of(got.type))) != 0) {
      most = INFINITY;
    }
  }
  return most;
}

/// A call for each set, or none where something else than this thread runs the launches.
std::vector<RawCall> SpeedProblem::raw_calls(OwnKernel* own) const {
  own->status = runtime::kFine;
  own->slots.resize(sets_.size());
  std::vector<RawCall> raw;
  for (size_t i = 0; i < sets_.size(); ++i) {
    runtime::KernelCall& call = *own->calls[std::min(i, own->calls.size() - 1)];
    raw.push_back({call.raw_launches(&own->status, sets_[i].params(), &own->slots[i])});
  }
  return raw;
}

std::vector<Contender> SpeedProblem::contenders() {
  std::vector<Contender> all;
  for (const auto& own : kernels_) {
    OwnKernel* const k = own.get();
    std::vector<RawCall> raw = raw_calls(k);
    const bool alone = k->kernel->pool == nullptr;
    if (!raw[0].launches.empty()) {
      std::function<void(int64_t)> run;
      if (raw[0].launches.size() > 1) {
        run = in_turns(std::move(raw));
      } else {
        std::vector<runtime::RawLaunch> single;
        for (const RawCall& call : raw) single.push_back(call.launches[0]);
        run = in_turns(std::move(single));
      }
      all.push_back({k->name, std::move(run), alone, {}});
      continue;
    }
    // Threads of a pool, or an interpreter.
    const auto run = [k, next = size_t{0}](int64_t n) mutable {
      for (int64_t i = 0; i < n; ++i) {
        const auto done = k->calls[next++ % k->calls.size()]->run(1);
        if (!done && k->wrong.empty()) k->wrong = done.failure().message;
      }
    };
    all.push_back({k->name, run, alone, {}});
  }
  return all;
}

runtime::TimeBound SpeedProblem::bound(runtime::Limits* limits) const {
  return runtime::bound_of(work_, limits);
}

}  // namespace hone::bench
