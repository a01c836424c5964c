// SPDX-License-Identifier: Apache-2.0
#include "runtime/check/call_frame.h"

#include <algorithm>
#include <cstring>
#include <mutex>
#include <utility>

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

namespace {

/// One launch as a function of the host, also where the code has none to give.
class HostLaunch {
 public:
  HostLaunch(const jit::Executable& executable, size_t launch, const int64_t* slots)
      : executable_(executable),
        launch_(launch),
        slots_(slots),
        own_(executable.function(launch)) {}
  HostLaunch(const HostLaunch&) = delete;
  HostLaunch& operator=(const HostLaunch&) = delete;

  /// To be called with `arguments`.
  Launch::Function function() const { return own_ ? own_ : through; }
  const int64_t* arguments() { return own_ ? slots_ : reinterpret_cast<const int64_t*>(this); }
  /// Runs a part of it on the calling thread.
  void run(int64_t begin, int64_t end, void* scratch) {
    function()(arguments(), begin, end, scratch);
  }
  /// What went wrong in code without a function; "": nothing.
  std::string fault() const { return fault_ ? "" : fault_.failure().message; }

 private:
  static void through(const int64_t* self, int64_t begin, int64_t end, void* scratch) {
    auto* const launch = reinterpret_cast<HostLaunch*>(const_cast<int64_t*>(self));
    auto done =
        launch->executable_.run(launch->launch_, launch->slots_, {begin, end, scratch, nullptr});
    if (done) return;
    const std::lock_guard lock(launch->mutex_);
    launch->fault_ = std::move(done);
  }

  const jit::Executable& executable_;
  const size_t launch_;
  const int64_t* const slots_;
  const Launch::Function own_;
  std::mutex mutex_;
  Result<Done> fault_ = Done{};
};

}  // namespace

std::string CallFrame::run_guarded(GuardedCall& call, const Candidate& c) {
  *status_ = kFine;
  run_us_ = 0;
  for (size_t i = 0; i < c.nest().launches.size(); ++i) {
    const ir::Launch& launch = c.nest().launches[i];
    const int64_t n = extent(launch);
    // Parts that a pool could make: what is left over at a boundary shows here.
    const int64_t cuts[] = {0, n / 3, n / 3 + n / 2 > n ? n : n / 3 + n / 2, n};
    HostLaunch guarded_launch(*c.executable, i, slots_of(launch));
    std::string broken;
    const Stretch took = stretch_of([&] {
      for (int part = 0; part < 3 && broken.empty(); ++part) {
        if (cuts[part] >= cuts[part + 1]) continue;
        broken = call.run(guarded_launch.function(), guarded_launch.arguments(), cuts[part],
                          cuts[part + 1], scratch_[0].data());
        if (broken.empty()) broken = guarded_launch.fault();
      }
    });
    if (!broken.empty()) return broken;
    if (!launch.at_bind) run_us_ += took.cpu_us;
  }
  return "";
}

Result<Done> CallFrame::share(int workers) {
  while (scratch_.size() < static_cast<size_t>(workers)) {
    auto more = pool_->take(scratch_[0].size(), Guard::kAfter);
    if (!more) return more.failure();
    scratch_.push_back(std::move(*more));
  }
  return Done{};
}

void CallFrame::bind(const Candidate& c) {
  *status_ = kFine;
  for (size_t i = 0; i < c.nest().launches.size(); ++i) {
    const ir::Launch& launch = c.nest().launches[i];
    if (launch.at_bind) {
      HostLaunch(*c.executable, i, slots_of(launch)).run(0, extent(launch), scratch_[0].data());
    }
  }
}

void CallFrame::run(const Candidate& c, ThreadPool* pool) {
  struct Context {
    HostLaunch* launch;
    std::vector<GuardedMemory>* scratch;
  };
  *status_ = kFine;
  for (size_t i = 0; i < c.nest().launches.size(); ++i) {
    const ir::Launch& launch = c.nest().launches[i];
    if (launch.at_bind) continue;
    const int64_t n = extent(launch);
    if (n <= 0) continue;
    HostLaunch whole(*c.executable, i, slots_.data());
    if (!pool || !launch.parallel || n == 1) {
      whole.run(0, n, scratch_[0].data());
      continue;
    }
    Context context{&whole, &scratch_};
    pool->parallel_for(
        n,
        [](void* p, int64_t begin, int64_t end, int worker) {
          auto* x = static_cast<Context*>(p);
          x->launch->run(begin, end, (*x->scratch)[static_cast<size_t>(worker)].data());
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
