// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstring>
#include <mutex>
#include <utility>

#include "include/hone/thread_pool.h"
#include "runtime/check/guarded_call.h"
#include "runtime/check/site.h"

namespace hone::runtime {
namespace {

/// A block that goes back to its pool.
class HostBlock final : public Block {
 public:
  HostBlock(GuardedMemory memory, int64_t bytes, GuardedPool& pool)
      : Block(memory.data(), bytes), memory_(std::move(memory)), pool_(pool) {}
  ~HostBlock() override {
    // What was written past its end is not for the next one.
    if (!memory_.overwritten()) pool_.give(std::move(memory_));
  }

  Result<Done> write(const void* from) override {
    if (bytes() > 0) std::memcpy(data(), from, static_cast<size_t>(bytes()));
    return Done{};
  }
  Result<Done> read(void* to, int64_t at, int64_t n) const override {
    if (n > 0) std::memcpy(to, memory_.data() + at, static_cast<size_t>(n));
    return Done{};
  }
  Result<Done> copy(const Block& from) override { return write(from.data()); }
  Result<bool> overwritten() const override { return memory_.overwritten(); }

 private:
  GuardedMemory memory_;
  GuardedPool& pool_;
};

/// One launch as a function of the host, also where the code has none to give.
class HostLaunch {
 public:
  explicit HostLaunch(const SiteLaunch& launch)
      : launch_(launch), own_(launch.executable.function(launch.number)) {}
  HostLaunch(const HostLaunch&) = delete;
  HostLaunch& operator=(const HostLaunch&) = delete;

  /// To be called with `arguments`.
  Launch::Function function() const { return own_ ? own_ : through; }
  const int64_t* arguments() {
    return own_ ? launch_.slots : reinterpret_cast<const int64_t*>(this);
  }
  /// Runs a part of it on the calling thread, as `worker`.
  void run(int64_t begin, int64_t end, size_t worker) {
    function()(arguments(), begin, end, launch_.scratch[worker]);
  }
  /// What went wrong in code without a function.
  Result<Done> done() { return std::move(done_); }

 private:
  static void through(const int64_t* self, int64_t begin, int64_t end, void* scratch) {
    auto* const h = reinterpret_cast<HostLaunch*>(const_cast<int64_t*>(self));
    const SiteLaunch& launch = h->launch_;
    auto done = launch.executable.run(launch.number, launch.slots, {begin, end, scratch, nullptr});
    if (done) return;
    const std::lock_guard lock(h->mutex_);
    h->done_ = std::move(done);
  }

  const SiteLaunch& launch_;
  const Launch::Function own_;
  std::mutex mutex_;
  Result<Done> done_ = Done{};
};

class HostSite : public Site {
 public:
  explicit HostSite(ThreadPool* pool) : pool_(pool) {}

  Result<std::unique_ptr<Block>> take(int64_t bytes, int64_t align, Guard guard) override {
    const int64_t unit = std::max<int64_t>(align, 64);
    auto memory = blocks_.take(static_cast<size_t>((bytes + unit - 1) / unit * unit), guard);
    if (!memory) return memory.failure();
    std::memset(memory->data(), 0xFF, memory->size());
    return std::unique_ptr<Block>(new HostBlock(std::move(*memory), bytes, blocks_));
  }
  bool is_host() const override { return true; }
  int64_t cache_bytes() const override { return 0; }
  int workers() const override { return pool_ ? pool_->size() : 1; }

  Result<Done> run(const SiteLaunch& launch) override {
    const int64_t n = launch.extent;
    if (n <= 0) return Done{};
    if (!pool_ || !launch.parallel || n == 1) {
      return launch.executable.run(launch.number, launch.slots, {0, n, launch.scratch[0], nullptr});
    }
    HostLaunch whole(launch);
    const auto part = [](void* p, int64_t begin, int64_t end, int worker) {
      static_cast<HostLaunch*>(p)->run(begin, end, static_cast<size_t>(worker));
    };
    pool_->parallel_for(n, part, &whole);
    return whole.done();
  }
  Result<double> timed(const Work& work) override {
    Result<Done> done = Done{};
    const Stretch took = stretch_of([&] { done = work(); });
    if (!done) return done.failure();
    return took.cpu_us;
  }
  Result<Samples> sample(const Calls& calls, bool parallel, const SampleOptions& options,
                         const std::function<void()>& between) override {
    Result<Done> done = Done{};
    const auto run = [&](int64_t n) {
      if (auto f = calls(n); !f) done = std::move(f);
    };
    Samples samples = sample_calls(run, parallel ? pool_ : nullptr, options, between);
    if (!done) return done.failure();
    return samples;
  }
  std::string_view verdict_on(const Failure&) const override { return "refused"; }

 private:
  ThreadPool* pool_;
  GuardedPool blocks_;
};

class GuardedSite final : public HostSite {
 public:
  explicit GuardedSite(GuardedCall call) : HostSite(nullptr), call_(std::move(call)) {}

  Result<Done> run(const SiteLaunch& launch) override {
    const int64_t n = launch.extent;
    // Parts that a pool could make: what is left over at a boundary shows here.
    const int64_t cuts[] = {0, n / 3, n / 3 + n / 2 > n ? n : n / 3 + n / 2, n};
    HostLaunch guarded(launch);
    for (int part = 0; part < 3; ++part) {
      if (cuts[part] >= cuts[part + 1]) continue;
      std::string broken = call_.run(guarded.function(), guarded.arguments(), cuts[part],
                                     cuts[part + 1], launch.scratch[0]);
      if (!broken.empty()) return Failure{ErrorCode::kInternal, std::move(broken)};
      if (auto f = guarded.done(); !f) return f;
    }
    return Done{};
  }
  std::string_view verdict_on(const Failure& failure) const override {
    return failure.code == ErrorCode::kMemory ? "refused" : "clobbers";
  }

 private:
  GuardedCall call_;
};

}  // namespace

std::unique_ptr<Site> host_site(ThreadPool* pool) { return std::make_unique<HostSite>(pool); }

Result<std::unique_ptr<Site>> guarded_site() {
  auto call = GuardedCall::create();
  if (!call) return call.failure();
  return std::unique_ptr<Site>(new GuardedSite(std::move(*call)));
}

}  // namespace hone::runtime
