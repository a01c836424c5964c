// SPDX-License-Identifier: Apache-2.0
// The steady state: nothing here allocates or locks where all is well.
#include "runtime/model/wave_run.h"

#include <atomic>
#include <mutex>
#include <optional>

#include "runtime/call/float_control.h"
#include "runtime/engine/failure.h"
#include "runtime/fine.h"

namespace hone::runtime {
namespace {

/// A wave under way, for the pool's workers.
class Running {
 public:
  Running(const ModelArguments& call, const ModelWave& wave, std::byte* block)
      : call_(call), wave_(wave), block_(block), floats_(float_control()) {}

  static void task(void* context, int64_t begin, int64_t end, int worker) {
    static_cast<Running*>(context)->run(begin, end, worker);
  }

  Result<Done> result() {
    if (stray_) {
      return Failure{ErrorCode::kArgument,
                     "EngineOptions::pool: a task is outside of its workers or of the range"};
    }
    return failure_ ? Result<Done>(*std::move(failure_)) : fine();
  }

 private:
  void run(int64_t begin, int64_t end, int worker) {
    if (worker < 0 || worker >= wave_.workers || begin < 0 || end > wave_.count) {
      stray_ = true;
      return;
    }
    const CallersFloats floats(floats_);
    for (int64_t i = begin; i < end; ++i) run(static_cast<int>(i), worker);
  }

  void run(int i, int worker) {
    const ModelState& model = call_.model();
    const ModelCall& step = model.calls[static_cast<size_t>(wave_.first + i)];
    const StepArguments args(call_, step, block_);
    CallOptions one;
    one.serial = true;
    if (step.kernel->serial_workspace_bytes() > 0) {
      // Of fewer steps than workers each has its own, else each worker.
      const int64_t at = wave_.count < wave_.workers ? i : worker;
      one.workspace = {block_ + model.memory.values + at * wave_.workspace,
                       static_cast<size_t>(wave_.workspace)};
    }
    auto f = step.kernel->call(args.refs(), one, step.bound.get());
    if (!f) fail(i, std::move(f).failure());
  }

  void fail(int i, Failure failure) {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (failure_ && failed_ < i) return;
    failed_ = i;
    failure_ = std::move(failure);
  }

  const ModelArguments& call_;
  const ModelWave& wave_;
  std::byte* block_;
  unsigned floats_;
  std::atomic<bool> stray_{false};  ///< the pool asked for what there is not
  std::mutex mutex_;                ///< of the two below
  int failed_ = 0;
  std::optional<Failure> failure_;
};

}  // namespace

Result<Done> run_wave(const ModelArguments& call, const ModelWave& wave, std::byte* block) {
  Running running(call, wave, block);
  auto f = guard_pool([&] { wave.pool->parallel_for(wave.count, Running::task, &running); });
  if (!f) return f.failure();
  return running.result();
}

}  // namespace hone::runtime
