// SPDX-License-Identifier: Apache-2.0
#include "runtime/check/call_frame.h"

#include <algorithm>
#include <cstring>

#include "runtime/call/plan.h"
#include "runtime/fine.h"
#include "runtime/measure/samples.h"

namespace hone::runtime {

CallFrame::~CallFrame() {
  // What was written past its end is not for the next one.
  if (!overwritten().empty()) return;
  pool_->give(std::move(workspace_));
  for (GuardedMemory& m : scratch_) pool_->give(std::move(m));
  for (GuardedMemory& m : bound_) pool_->give(std::move(m));
}

Result<CallFrame> CallFrame::create(const Candidate& c, const Fixture& fixture, GuardedPool& pool) {
  const ir::Nest& nest = c.nest();
  CallFrame f(pool, FrameSlots(nest, fixture));
  f.dims_ = fixture.dims();
  f.status_ = std::make_unique<int64_t>(kFine);
  const auto guarded = [&](int64_t bytes) -> Result<GuardedMemory> {
    auto m = pool.take(static_cast<size_t>((bytes + 63) / 64 * 64), fixture.guard());
    if (m) std::memset(m->data(), 0xFF, m->size());
    return m;
  };
  f.slots_.status(f.status_.get());
  auto workspace = guarded(nest.shared_bytes);
  if (!workspace) return workspace.failure();
  f.workspace_ = std::move(*workspace);
  f.slots_.workspace(f.workspace_.data());
  for (size_t i = 0; i < fixture.params().size(); ++i) {
    f.slots_.tensor(i, fixture.params()[i].data);
  }
  for (const int64_t bytes : bound_bytes(nest)) {
    auto m = guarded(bytes);
    if (!m) return m.failure();
    f.slots_.bound(f.bound_.size(), m->data());
    f.bound_.push_back(std::move(*m));
  }
  f.bind_slots_ = f.slots_.at_bind(fixture.problem().program);
  auto scratch = guarded(nest.worker_bytes);
  if (!scratch) return scratch.failure();
  f.scratch_.push_back(std::move(*scratch));
  return f;
}

int64_t CallFrame::extent(const ir::Launch& launch) const { return evaluate(launch.extent, dims_); }

const int64_t* CallFrame::slots_of(const ir::Launch& launch) const {
  return launch.at_bind ? bind_slots_.data() : slots_.data();
}

std::string CallFrame::run_guarded(GuardedCall& call, const Candidate& c) {
  *status_ = kFine;
  run_us_ = 0;
  for (size_t i = 0; i < c.nest().launches.size(); ++i) {
    const ir::Launch& launch = c.nest().launches[i];
    const int64_t n = extent(launch);
    // Parts that a pool could make: what is left over at a boundary shows here.
    const int64_t cuts[] = {0, n / 3, n / 3 + n / 2 > n ? n : n / 3 + n / 2, n};
    std::string broken;
    const Stretch took = stretch_of([&] {
      for (int part = 0; part < 3 && broken.empty(); ++part) {
        if (cuts[part] >= cuts[part + 1]) continue;
        broken = call.run(c.executable->function(i), slots_of(launch), cuts[part], cuts[part + 1],
                          scratch_[0].data());
      }
    });
    if (!broken.empty()) return broken;
    if (!launch.at_bind) run_us_ += took.cpu_us;
  }
  return "";
}

Result<std::monostate> CallFrame::share(int workers) {
  while (scratch_.size() < static_cast<size_t>(workers)) {
    auto more = pool_->take(scratch_[0].size(), Guard::kAfter);
    if (!more) return more.failure();
    scratch_.push_back(std::move(*more));
  }
  return std::monostate{};
}

void CallFrame::bind(const Candidate& c) {
  *status_ = kFine;
  for (size_t i = 0; i < c.nest().launches.size(); ++i) {
    const ir::Launch& launch = c.nest().launches[i];
    if (launch.at_bind) {
      c.executable->function(i)(slots_of(launch), 0, extent(launch), scratch_[0].data());
    }
  }
}

void CallFrame::run(const Candidate& c, ThreadPool* pool) {
  struct Context {
    Launch::Function function;
    const int64_t* slots;
    std::vector<GuardedMemory>* scratch;
  };
  *status_ = kFine;
  for (size_t i = 0; i < c.nest().launches.size(); ++i) {
    const ir::Launch& launch = c.nest().launches[i];
    if (launch.at_bind) continue;
    const int64_t n = extent(launch);
    if (n <= 0) continue;
    const Launch::Function function = c.executable->function(i);
    if (!pool || !launch.parallel || n == 1) {
      function(slots_.data(), 0, n, scratch_[0].data());
      continue;
    }
    Context context{function, slots_.data(), &scratch_};
    pool->parallel_for(
        n,
        [](void* p, int64_t begin, int64_t end, int worker) {
          auto* x = static_cast<Context*>(p);
          x->function(x->slots, begin, end, (*x->scratch)[static_cast<size_t>(worker)].data());
        },
        &context);
  }
}

std::string CallFrame::misreported(const Fixture& fixture) const {
  return runtime::misreported(*status_, fixture);
}

std::string CallFrame::overwritten() const {
  if (workspace_.overwritten()) return "the workspace";
  for (const GuardedMemory& m : scratch_) {
    if (m.overwritten()) return "scratch";
  }
  for (const GuardedMemory& m : bound_) {
    if (m.overwritten()) return "a bound buffer";
  }
  return "";
}

}  // namespace hone::runtime
