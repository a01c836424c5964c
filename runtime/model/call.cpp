// SPDX-License-Identifier: Apache-2.0
// The steady state: nothing here allocates, locks or calls the system by itself.
#include <fmt/format.h>

#include "runtime/fine.h"
#include "runtime/model/arguments.h"
#include "runtime/model/device_model.h"
#include "runtime/model/wave_run.h"

namespace hone::runtime {
namespace {

/// Memory of one call: the caller's, or one from the engine's pool.
class CallBlock {
 public:
  CallBlock(const ModelState& model, std::span<std::byte> given) : model_(model), given_(given) {
    if (!given.empty()) {
      const bool fits = static_cast<int64_t>(given.size()) >= model.memory.call &&
                        reinterpret_cast<uintptr_t>(given.data()) % kLine == 0;
      data_ = fits ? given.data() : nullptr;
      return;
    }
    data_ = static_cast<std::byte*>(model.services->workspaces().take(bytes()));
  }
  ~CallBlock() {
    if (given_.empty() && data_) model_.services->workspaces().give(data_, bytes());
  }
  CallBlock(const CallBlock&) = delete;
  CallBlock& operator=(const CallBlock&) = delete;
  std::byte* data() const { return data_; }
  Failure failure() const {
    const WorkspacePool& pool = model_.services->workspaces();
    if (given_.empty()) {
      return Failure{ErrorCode::kMemory,
                     fmt::format("a call of the model takes {} bytes; {} of {} allowed are in use",
                                 bytes(), pool.used(), pool.ceiling())};
    }
    return Failure{
        ErrorCode::kArgument,
        fmt::format("the workspace has {} bytes at {}; {} are taken, at a multiple of "
                    "{}",
                    given_.size(), static_cast<void*>(given_.data()), model_.memory.call, kLine)};
  }

 private:
  /// Fixed by: a cache line, and the alignment of tensors in a block.
  static constexpr uintptr_t kLine = 64;
  int64_t bytes() const { return std::max<int64_t>(model_.memory.call, 1); }

  const ModelState& model_;
  std::span<std::byte> given_;
  std::byte* data_ = nullptr;
};

/// Runs the steps of a call on the host.
Result<Done> run_on_host(ModelArguments& call, const CallOptions& options) {
  const ModelState& model = call.model();
  const CallBlock block(model, options.workspace);
  if (!block.data()) return block.failure();
  const std::span<std::byte> workspace(block.data() + model.memory.values,
                                       static_cast<size_t>(model.memory.workspace));
  auto host = model.hosts.begin();
  const auto run_hosts = [&](int before) {
    for (; host != model.hosts.end() && host->before == static_cast<size_t>(before); ++host) {
      if (auto f = run_host(call, *host, block.data(), workspace); !f) return f;
    }
    return fine();
  };
  for (const ModelWave& wave : model.waves) {
    if (auto f = run_hosts(wave.first); !f) return f.failure();
    if (wave.count > 1 && !options.serial) {
      if (auto f = run_wave(call, wave, block.data()); !f) return f.failure();
      continue;
    }
    for (int i = wave.first; i < wave.first + wave.count; ++i) {
      const ModelCall& step = model.calls[static_cast<size_t>(i)];
      const StepArguments args(call, step, block.data());
      CallOptions one;
      one.serial = options.serial;
      if (step.kernel->workspace_bytes() > 0) one.workspace = workspace;
      if (auto f = step.kernel->call(args.refs(), one, step.bound.get()); !f) return f.failure();
    }
  }
  return run_hosts(static_cast<int>(model.calls.size()));
}

}  // namespace

Result<Done> ModelState::run(std::span<const NamedTensor> inputs,
                             std::span<const NamedTensor> outputs,
                             const CallOptions& options) const {
  ModelArguments call(*this);
  if (auto f = call.take(inputs, outputs); !f) return f.failure();
  if (auto f = call.check_shapes(outputs, options.shapes); !f) return f.failure();
  if (auto f = device ? device->run(call, options) : run_on_host(call, options); !f) {
    return f.failure();
  }
  call.put_shapes(outputs, options.shapes);
  return fine();
}

Result<Done> ModelState::enqueue(std::span<const NamedTensor> inputs,
                                 std::span<const NamedTensor> outputs,
                                 const EnqueueOptions& options) const {
  if (!device) {
    return Failure{ErrorCode::kUnsupported,
                   "the model runs on this CPU; only models on a GPU can be enqueued"};
  }
  ModelArguments call(*this);
  if (auto f = call.take(inputs, outputs); !f) return f.failure();
  return device->enqueue(call, options);
}

Result<Done> ModelState::wait(void* stream) const {
  return device ? device->wait(*this, stream) : fine();
}

}  // namespace hone::runtime
