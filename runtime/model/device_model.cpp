// SPDX-License-Identifier: Apache-2.0
#include "runtime/model/device_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "jit/ir/integers.h"
#include "runtime/engine/gpu_kernel.h"
#include "runtime/engine/gpu_stream.h"
#include "runtime/fine.h"

namespace hone::runtime {
namespace {

/// The most graphs that a model keeps: one for each stream and choice of dims, and more where
/// threads share these.
/// Chosen: a few streams with a few batch sizes (not measured).
constexpr size_t kMostGraphs = 16;
/// Status words that are read at a time.
/// Chosen: more than models have (not measured).
constexpr size_t kWordsRead = 64;

/// Copies on the device of what a caller gave in the host's memory.
class StagedTensors {
 public:
  StagedTensors(Gpu& gpu, ModelArguments& call) : gpu_(gpu), call_(call) {}

  /// Sees where each tensor lies. Fails for memory of another GPU.
  Result<Done> find() {
    for (size_t i = 0; i < call_.data().size(); ++i) {
      void* const data = call_.data()[i];
      host_[i] = nullptr;
      if (!data || call_.bytes(i) == 0) continue;
      if (is_device_memory(gpu_, data)) {
        if (auto f = check_on_device(gpu_, name(i), data); !f) return f.failure();
        continue;
      }
      host_[i] = data;
      bytes_ += ir::round_up(call_.bytes(i), kPlanAlignment);
    }
    return fine();
  }
  /// Of all copies.
  int64_t bytes() const { return bytes_; }

  /// Has the copies lie at `block`, and takes inputs there.
  int copy_in(uint64_t block, void* stream) {
    int error = 0;
    for (size_t i = 0; i < call_.data().size() && error == 0; ++i) {
      if (!host_[i]) continue;
      call_.move(i, reinterpret_cast<void*>(block));
      if (!given(i).written) {
        error = gpu_.driver().to_device_on(block, host_[i], bytes_of(i), stream);
      }
      block += static_cast<uint64_t>(ir::round_up(call_.bytes(i), kPlanAlignment));
    }
    return error;
  }
  int copy_out(void* stream) const {
    int error = 0;
    for (size_t i = 0; i < call_.data().size() && error == 0; ++i) {
      if (!host_[i] || !given(i).written) continue;
      const auto from = reinterpret_cast<uint64_t>(call_.data()[i]);
      error = gpu_.driver().to_host_on(host_[i], from, bytes_of(i), stream);
    }
    return error;
  }

 private:
  const ModelParam& given(size_t i) const { return call_.model().given[i]; }
  size_t bytes_of(size_t i) const { return static_cast<size_t>(call_.bytes(i)); }
  std::string name(size_t i) const {
    return "`" + call_.model().values[static_cast<size_t>(given(i).value)].name + "`";
  }

  Gpu& gpu_;
  ModelArguments& call_;
  std::array<void*, kMostModelGiven> host_;  ///< where it lies on the host; null: it does not
  int64_t bytes_ = 0;
};

/// Waits for the stream at the end of a call that failed: the driver may still read what the caller
/// gave.
class WaitsAtFailure {
 public:
  WaitsAtFailure(Gpu& gpu, void* stream) : gpu_(gpu), stream_(stream) {}
  ~WaitsAtFailure() {
    if (!done_ && !gpu_.lost()) gpu_.driver().stream_synchronize(stream_);
  }
  WaitsAtFailure(const WaitsAtFailure&) = delete;
  WaitsAtFailure& operator=(const WaitsAtFailure&) = delete;
  void done() { done_ = true; }

 private:
  Gpu& gpu_;
  void* stream_;
  bool done_ = false;
};

}  // namespace

Result<std::shared_ptr<const DeviceModel>> DeviceModel::create(const ModelState& model) {
  std::shared_ptr<DeviceModel> made(new DeviceModel(model.services->gpu()));
  int count = 0;
  for (const ModelCall& call : model.calls) {
    made->words_of_steps_.push_back(call.kernel->gpu->words ? count++ : -1);
  }
  made->idle_.reserve(kMostGraphs);
  made->fine_words_.assign(static_cast<size_t>(count), kFine);
  if (count > 0) {
    auto words = StatusWords::create(*made->gpu_, static_cast<size_t>(count));
    if (!words) return words.failure();
    made->words_ = *std::move(words);
  }
  return std::shared_ptr<const DeviceModel>(std::move(made));
}

/// A graph for such calls that nobody uses, or a new one.
std::unique_ptr<ModelGraph> DeviceModel::take(const DeviceSteps& steps) const {
  {
    const std::lock_guard lock(mutex_);
    for (auto at = idle_.rbegin(); at != idle_.rend(); ++at) {
      if (!(*at)->serves(steps)) continue;
      std::unique_ptr<ModelGraph> found = std::move(*at);
      idle_.erase(std::next(at).base());
      return found;
    }
  }
  return std::make_unique<ModelGraph>(gpu_, steps);
}

void DeviceModel::give(std::unique_ptr<ModelGraph> graph) const {
  std::unique_ptr<ModelGraph> oldest;  // goes once the lock is free
  const std::lock_guard lock(mutex_);
  if (idle_.size() == kMostGraphs) {
    oldest = std::move(idle_.front());
    idle_.erase(idle_.begin());
  }
  idle_.push_back(std::move(graph));
}

Result<Done> DeviceModel::launch(const DeviceSteps& steps) const {
  std::unique_ptr<ModelGraph> graph = take(steps);
  auto f = graph->launch(steps);
  if (f) give(std::move(graph));
  return f;
}

Failure DeviceModel::bad_data(const ModelState& model, size_t word, int64_t said) const {
  const auto at = std::find(words_of_steps_.begin(), words_of_steps_.end(), static_cast<int>(word));
  const auto step = static_cast<size_t>(at - words_of_steps_.begin());
  return bad_data_on_gpu(*model.calls[step].kernel, said);
}

Failure DeviceModel::failed(const ModelState& model, int error) const {
  return gpu_->failed(error, fmt::format("running model `{}`", model.graph.name));
}

/// Waits for the words of a call, some at a time. The first step whose data was bad is told.
Result<Done> DeviceModel::check_words(const ModelState& model, uint64_t words, void* stream) const {
  std::array<int64_t, kWordsRead> said;
  for (size_t begin = 0; begin < fine_words_.size(); begin += kWordsRead) {
    const size_t count = std::min(kWordsRead, fine_words_.size() - begin);
    int error = gpu_->driver().to_host_on(said.data(), words + begin * sizeof(int64_t),
                                          count * sizeof(int64_t), stream);
    if (error == 0) error = gpu_->driver().stream_synchronize(stream);
    if (error != 0) return failed(model, error);
    for (size_t i = 0; i < count; ++i) {
      if (said[i] != kFine) return bad_data(model, begin + i, said[i]);
    }
  }
  return fine();
}

Result<Done> DeviceModel::enqueue(const ModelArguments& call, const EnqueueOptions& options) const {
  const ModelState& model = call.model();
  const std::string& name = model.graph.name;
  const int64_t bytes = model.memory.call;
  if (auto f = call.check_alignment(); !f) return f.failure();
  if (auto f = check_workspace(name, bytes, options.workspace); !f) return f.failure();
  if (words_ && !options.status) {
    if (auto f = check_worded(name, options.stream); !f) return f.failure();
  }
  const UseGpu use(*gpu_);
  if (auto f = ready(*gpu_, use); !f) return f.failure();
  bool captured = false;
  if (bytes > 0 && options.workspace.empty()) {
    if (auto f = check_pooled(*gpu_, name, bytes, options.stream); !f) return f.failure();
  } else {
    const auto asked = is_captured(*gpu_, options.stream);
    if (!asked) return asked.failure();
    captured = *asked;
  }
  const GpuWorkspace block(*gpu_, bytes, options.workspace, options.stream);
  if (!block.made()) return block.made();
  ModelPlace place{reinterpret_cast<std::byte*>(block.data()), 0, 0, options.stream};
  if (options.status) {
    place.words = reinterpret_cast<uint64_t>(options.status);
  } else if (words_) {
    place.words = words_->of(options.stream);
    place.words_apart = sizeof(int64_t);
  }
  const DeviceSteps steps(*gpu_, call, words_of_steps_, place);
  // A graph that is being made takes launches, and no launch of another graph.
  return captured ? steps.enqueue() : launch(steps);
}

Result<Done> DeviceModel::run(ModelArguments& call, const CallOptions& options) const {
  const ModelState& model = call.model();
  const int64_t bytes = model.memory.call;
  if (auto f = check_workspace(model.graph.name, bytes, options.workspace); !f) return f.failure();
  const UseGpu use(*gpu_);
  if (auto f = ready(*gpu_, use); !f) return f.failure();
  StagedTensors staged(*gpu_, call);
  if (auto f = staged.find(); !f) return f.failure();
  const jit::CudaDriver& driver = gpu_->driver();
  void* const stream = gpu_->stream();
  // Calls of several threads share the stream, so each has status words of its own.
  const size_t words_bytes = fine_words_.size() * sizeof(int64_t);
  const GpuWorkspace block(*gpu_, bytes, options.workspace, stream);
  const GpuWorkspace copies(*gpu_, staged.bytes(), {}, stream);
  const GpuWorkspace words(*gpu_, static_cast<int64_t>(words_bytes), {}, stream);
  for (const GpuWorkspace* w : {&block, &copies, &words}) {
    if (!w->made()) return w->made();
  }
  WaitsAtFailure waits(*gpu_, stream);
  int error = staged.copy_in(copies.data(), stream);
  if (error == 0 && words_bytes > 0) {
    error = driver.to_device_on(words.data(), fine_words_.data(), words_bytes, stream);
  }
  if (error != 0) return gpu_->failed(error, "copying inputs of a model");
  if (auto f = call.check_alignment(); !f) return f.failure();
  const DeviceSteps steps(
      *gpu_, call, words_of_steps_,
      {reinterpret_cast<std::byte*>(block.data()), words.data(), sizeof(int64_t), stream});
  if (auto f = launch(steps); !f) return f.failure();
  if (auto f = check_words(model, words.data(), stream); !f) return f.failure();
  error = staged.copy_out(stream);
  if (error == 0) error = driver.stream_synchronize(stream);
  if (error != 0) return failed(model, error);
  waits.done();
  return fine();
}

Result<Done> DeviceModel::wait(const ModelState& model, void* stream) const {
  const UseGpu use(*gpu_);
  if (auto f = ready(*gpu_, use); !f) return f.failure();
  const jit::CudaDriver& driver = gpu_->driver();
  // Words that may tell of calls in this stream.
  uint64_t at[2] = {};
  size_t count = 0;
  if (words_) at[count++] = words_->of(stream);
  if (words_ && words_->shares() && words_->shared() != at[0]) at[count++] = words_->shared();
  Result<Done> first = fine();
  for (size_t i = count; i-- > 0;) {
    auto said = check_words(model, at[i], stream);
    if (said) continue;
    if (said.failure().code != ErrorCode::kBounds) return said;
    int error = driver.to_device_on(at[i], fine_words_.data(), fine_words_.size() * sizeof(int64_t),
                                    stream);
    if (error == 0) error = driver.stream_synchronize(stream);
    if (error != 0) return failed(model, error);
    first = std::move(said);
  }
  if (const int error = driver.stream_synchronize(stream)) return failed(model, error);
  return first;
}

}  // namespace hone::runtime
